import { FitAddon } from '@xterm/addon-fit';
import type { ITheme } from '@xterm/xterm';
import { Terminal } from '@xterm/xterm';
import { AttachSession } from '../../src/clients/attach-session.ts';
import type { AttachEnd } from '../../src/wire/api/attach-frames.ts';
import type { Cell } from '../cell/cell.ts';
import { browserClock, browserRandom } from '../cell/browser.ts';
import { keepStyles } from './screen-styles.ts';

keepStyles(document);

export interface ScreenTarget {
  readonly allocation: string;
  readonly task?: string;
  readonly command: readonly string[];
}

export interface ScreenCall {
  /** Ends it, with the command. */
  readonly signal: AbortSignal;
  /** Its first message came. */
  readonly onOpen: () => void;
}

/** How long a command that is left has to hear of it. */
const HANGUP_MS = 2_000;
const OUTAGE_MAX_MS = 20_000;
const LINES_KEPT = 5_000;

/**
 * Starts the command, and is its terminal until it ends.
 * @returns null when `signal` was aborted first
 * @throws ProblemError, HttpError
 */
export async function runScreen(
  box: HTMLElement,
  cell: Cell,
  target: ScreenTarget & { readonly label: string },
  { signal, onOpen }: ScreenCall,
): Promise<AttachEnd | null> {
  const terminal = new Terminal({ ...LOOK, theme: themeOf(box) });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(box);
  fit.fit();
  terminal.textarea?.setAttribute('aria-label', target.label);
  terminal.attachCustomKeyEventHandler((event) => !(event.key === 'Tab' && event.shiftKey));
  const watch = new ResizeObserver(() => fit.fit());
  watch.observe(box);
  const darkness = matchMedia('(prefers-color-scheme: dark)');
  const recolour = (): void => void (terminal.options.theme = themeOf(box));
  darkness.addEventListener('change', recolour);
  try {
    terminal.focus();
    return await exchange(terminal, cell, target, { signal, onOpen });
  } finally {
    watch.disconnect();
    darkness.removeEventListener('change', recolour);
    terminal.options.disableStdin = true;
    // What it wrote last stays to be read until it is left.
    onceAborted(signal, () => terminal.dispose());
  }
}

const LOOK = {
  ...{ fontSize: 14, fontFamily: 'ui-monospace, monospace', scrollback: LINES_KEPT },
  ...{ screenReaderMode: true, minimumContrastRatio: 4.5 },
} as const;

async function exchange(
  terminal: Terminal,
  { client, channels }: Cell,
  { allocation, task, command }: ScreenTarget,
  { signal, onOpen }: ScreenCall,
): Promise<AttachEnd | null> {
  const commandId = crypto.randomUUID();
  await client.exec(
    allocation,
    {
      ...{ commandId, command, input: true, env: { TERM: 'xterm-256color' } },
      ...(task === undefined ? {} : { task }),
      terminal: { rows: terminal.rows, columns: terminal.cols },
    },
    { signal },
  );
  onOpen();
  const session = new AttachSession(
    { allocation, command: commandId },
    {
      ...{ channels, clock: browserClock, random: browserRandom, outageMaxMs: OUTAGE_MAX_MS },
      addresses: () => client.addresses,
      // The next message is taken when this one is drawn.
      onOutput: (_stream, bytes) => new Promise<void>((drawn) => terminal.write(bytes, drawn)),
      onGap: (_stream, bytes) => terminal.write(`\r\n… ${String(bytes)} older bytes are gone\r\n`),
    },
  );
  const encoder = new TextEncoder();
  terminal.onData((text) => void session.write(encoder.encode(text)));
  terminal.onBinary((text) => void session.write(Uint8Array.from(text, (one) => one.charCodeAt(0))));
  terminal.onResize(({ rows, cols }) => session.resize(rows, cols));
  session.resize(terminal.rows, terminal.cols);
  const over = new AbortController();
  onceAborted(signal, () => {
    // As a terminal that is closed does.
    void session.signal({ commandId: crypto.randomUUID(), signal: 'SIGHUP' }).then(() => over.abort());
    setTimeout(() => over.abort(), HANGUP_MS);
  });
  return session.run(over.signal);
}

function onceAborted(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
}

/** The page's own colours; those that programs choose stay xterm's, with enough contrast to be read. */
function themeOf(box: HTMLElement): ITheme {
  const style = getComputedStyle(box);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return {
    ...{ background: colour('--raised'), foreground: colour('--text'), cursor: colour('--accent') },
    ...{ cursorAccent: colour('--raised'), selectionBackground: colour('--line') },
  };
}
