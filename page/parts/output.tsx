import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { LogCall } from '../../src/clients/monitor-streams.ts';
import { PlainOutput } from '../figures/plain-output.ts';
import { Failed } from './notice.tsx';
import { useCell } from './hooks.ts';

/** Chunks that come close together are drawn together. */
const GATHER_MS = 100;
const AGAIN_MS = 1_000;
/** So many tries in a row without a byte. */
const TRIES_MAX = 30;

/** One stream of a task's output, live, over any number of monitors. */
export function Output(props: {
  readonly label: string;
  readonly job: JobRef;
  readonly call: Pick<LogCall, 'stream' | 'group' | 'index' | 'allocation' | 'task'>;
  readonly onEnd?: () => void;
}): JSX.Element {
  const { label, job, call, onEnd } = props;
  const { client } = useCell();
  const [text, setText] = useState('');
  const [state, setState] = useState<'live' | 'ended'>('live');
  const [error, setError] = useState<Error | null>(null);
  const box = useRef<HTMLPreElement>(null);
  const what = JSON.stringify([job, call]);
  useEffect(() => {
    const left = new AbortController();
    const output = new PlainOutput();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      timer = undefined;
      setText(output.text);
    };
    let tries = 0;
    const read = async (): Promise<void> => {
      const resume = async ({ progressed }: { readonly progressed: boolean }): Promise<boolean> => {
        tries = progressed ? 0 : tries + 1;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        return tries < TRIES_MAX;
      };
      for await (const { chunk } of client.logs(job, {
        ...call,
        follow: true,
        signal: left.signal,
        resume,
      })) {
        output.push(chunk);
        timer ??= setTimeout(draw, GATHER_MS);
      }
    };
    setText('');
    setError(null);
    setState('live');
    read()
      .catch((fault: unknown) => {
        if (!left.signal.aborted) setError(fault as Error);
      })
      .finally(() => {
        if (left.signal.aborted) return;
        clearTimeout(timer);
        draw();
        setState('ended');
        onEnd?.();
      });
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, [what]);
  useEffect(() => {
    const at = box.current;
    if (at !== null) at.scrollTop = at.scrollHeight;
  }, [text]);
  return (
    <section aria-label={label}>
      <h3>
        {label} <span class="state">{state === 'live' ? '● live' : '■ ended'}</span>
      </h3>
      <Failed error={error} />
      <pre ref={box} class="output" role="log" aria-label={label} tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}
