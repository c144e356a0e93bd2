import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { exitText } from '../../src/wire/values/words.ts';
import { useCell } from './hooks.ts';
import { Failed } from './notice.tsx';
import type { ScreenTarget } from './screen.ts';

/** A command inside an allocation, with this window as its terminal. What draws it is loaded when it is opened. */
export function Terminal(props: {
  readonly label: string;
  readonly target: ScreenTarget;
  readonly onClose: () => void;
}): JSX.Element {
  const { label, target, onClose } = props;
  const cell = useCell();
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState('◌ connecting');
  const [error, setError] = useState<Error | null>(null);
  const what = JSON.stringify(target);
  useEffect(() => {
    const left = new AbortController();
    const run = async (): Promise<void> => {
      const { runScreen } = await import('./screen.ts');
      if (left.signal.aborted || box.current === null) return;
      const onOpen = (): void => setState('● live');
      const end = await runScreen(box.current, cell, { ...target, label }, { signal: left.signal, onOpen });
      if (end !== null) setState(toldEnd(end.exit, end.execErrno));
    };
    setState('◌ connecting');
    setError(null);
    run().catch((fault: unknown) => {
      if (left.signal.aborted) return;
      setState('■ ended');
      setError(fault as Error);
    });
    return () => left.abort();
  }, [what]);
  return (
    <section aria-label={label}>
      <h3>
        {label}{' '}
        <span class="state" role="status">
          {state}
        </span>
      </h3>
      <Failed error={error} />
      <p class="actions">
        <span class="hint">Every key goes to the command; Shift+Tab leaves the terminal.</span>
        <button type="button" onClick={onClose}>
          Close the terminal
        </button>
      </p>
      <div ref={box} class="screen" />
    </section>
  );
}

function toldEnd(exit: Parameters<typeof exitText>[0], errno: number | undefined): string {
  if (errno !== undefined) return '■ the command could not be run';
  return `■ ended, exit code ${exitText(exit)}`;
}
