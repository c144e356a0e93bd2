import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { RunExit } from '../../src/wire/api/monitor-api.ts';
import { exitText } from '../../src/wire/values/words.ts';
import { hashOf } from '../figures/route.ts';
import { useCell } from '../parts/hooks.ts';
import { Failed, Output } from '../parts/parts.ts';

/** Longer than a proxy's patience: it is asked again. */
const WAIT_MS = 20_000;

/** A command, run once somewhere in the cell, with its output as it comes and how it ended. */
export function Run(): JSX.Element {
  const { client, me, may } = useCell();
  const [run, setRun] = useState<JobRef | null>(null);
  const [exit, setExit] = useState<RunExit | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const [isSending, setSending] = useState(false);
  const ended = async (job: JobRef): Promise<void> => {
    for (let found: RunExit | null = null; found === null;) {
      found = await client.exit(job, WAIT_MS);
      if (found !== null) setExit(found);
    }
  };
  const submit = (form: HTMLFormElement): void => {
    setRun(null);
    setExit(null);
    setFailed(null);
    setSending(true);
    client
      .run(fileOf(new FormData(form)), crypto.randomUUID())
      .then((answer) => setRun({ namespace: answer.namespace, job: answer.job }), setFailed)
      .finally(() => setSending(false));
  };
  if (!may('submit')) return <p class="notice">This token may look, and run nothing: its scope is read.</p>;
  return (
    <>
      <form
        class="run"
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget);
        }}
      >
        <label class="whole">
          Script, for <code>sh</code>
          <textarea name="script" rows={4} required spellcheck={false} placeholder="echo hello" />
        </label>
        <label>
          Name
          <input name="name" placeholder="run" pattern="[a-z0-9]([a-z0-9\-]*[a-z0-9])?" maxLength={40} />
        </label>
        <label>
          Namespace
          <input name="namespace" value={me.namespaces?.[0] ?? 'default'} required />
        </label>
        <label>
          CPU
          <input name="cpu" placeholder="100m" />
        </label>
        <label>
          Memory
          <input name="memory" placeholder="128Mi" />
        </label>
        <p class="actions">
          <button type="submit" class="strong" disabled={isSending}>
            Run once
          </button>
        </p>
      </form>
      <Failed error={failed} />
      {run === null ? null : (
        <section aria-labelledby="run-title">
          <h2 id="run-title">
            <a href={hashOf('jobs', [run.namespace, run.job])}>{`${run.namespace}/${run.job}`}</a>
          </h2>
          <p role="status" class="exit">
            {exit === null ? '● running' : told(exit)}
          </p>
          <Output
            label="stdout"
            job={run}
            call={{ stream: 'stdout' }}
            onEnd={() => void ended(run).catch(setFailed)}
          />
          <Output label="stderr" job={run} call={{ stream: 'stderr' }} />
        </section>
      )}
    </>
  );
}

function told({ state, exit, reason, host }: RunExit): string {
  const mark = state === 'complete' ? '✓' : '✗';
  const where = host === null ? '' : ` on ${host}`;
  return `${mark} ${state}${where}, exit code ${exitText(exit)}${reason === '' ? '' : `: ${reason}`}`;
}

/** What was left empty has the cell's own default. A script runs once: its user decides whether it runs again. */
function fileOf(form: FormData): unknown {
  const text = (name: string): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const given = (names: readonly string[]): Readonly<Record<string, string>> =>
    Object.fromEntries(
      names.map((name): [string, string] => [name, text(name)]).filter(([, value]) => value !== ''),
    );
  const resources = given(['cpu', 'memory']);
  return {
    ...{ name: 'run', type: 'batch', oneOff: true, ...given(['name', 'namespace', 'script']) },
    ...(Object.keys(resources).length === 0 ? {} : { resources }),
    ...{ restart: { attempts: 0, on: 'never' }, reschedule: { attempts: 0 } },
  };
}
