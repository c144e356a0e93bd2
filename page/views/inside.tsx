import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { AllocationStatus } from '../../src/wire/api/monitor-api.ts';
import { Output, Terminal } from '../parts/parts.ts';

/** What one allocation writes. */
export function Logs(props: { readonly job: JobRef; readonly of: AllocationStatus }): JSX.Element {
  const { allocation, name } = props.of;
  const tasks = tasksOf(props.of);
  const [task, setTask] = useState<string | null>(null);
  const [stream, setStream] = useState<'stdout' | 'stderr'>('stdout');
  const chosen = task ?? tasks[0];
  return (
    <section aria-labelledby="logs-title">
      <h2 id="logs-title">Output of {name}</h2>
      <p class="actions">
        <TaskChoice tasks={tasks} chosen={chosen} onChoose={setTask} />
        <label class="inline">
          Stream
          <select
            value={stream}
            onChange={(event) => setStream(event.currentTarget.value === 'stderr' ? 'stderr' : 'stdout')}
          >
            <option>stdout</option>
            <option>stderr</option>
          </select>
        </label>
      </p>
      <Output
        label={stream}
        job={props.job}
        call={{ stream, allocation: allocation.id, ...(chosen === undefined ? {} : { task: chosen }) }}
      />
    </section>
  );
}

/** A shell in one allocation, or another command with a terminal. */
export function Shell(props: { readonly of: AllocationStatus; readonly onClose: () => void }): JSX.Element {
  const { allocation, name } = props.of;
  const tasks = tasksOf(props.of);
  const [task, setTask] = useState<string | null>(null);
  const [command, setCommand] = useState('sh');
  const [opened, setOpened] = useState<readonly string[] | null>(null);
  const chosen = task ?? tasks[0];
  if (opened !== null)
    return (
      <Terminal
        label={`Terminal in ${name}`}
        target={{
          ...{ allocation: allocation.id, command: opened },
          ...(chosen === undefined ? {} : { task: chosen }),
        }}
        onClose={props.onClose}
      />
    );
  return (
    <section aria-labelledby="shell-title">
      <h2 id="shell-title">Terminal in {name}</h2>
      <form
        class="actions"
        onSubmit={(event) => {
          event.preventDefault();
          setOpened(command.trim().split(/\s+/));
        }}
      >
        <TaskChoice tasks={tasks} chosen={chosen} onChoose={setTask} />
        <label class="inline">
          Command
          <input
            value={command}
            required
            spellcheck={false}
            onInput={(event) => setCommand(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="strong">
          Open the terminal
        </button>
      </form>
    </section>
  );
}

function TaskChoice(props: {
  readonly tasks: readonly string[];
  readonly chosen: string | undefined;
  readonly onChoose: (task: string) => void;
}): JSX.Element | null {
  const { tasks, chosen, onChoose } = props;
  if (tasks.length < 2) return null;
  return (
    <label class="inline">
      Task
      <select value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
        {tasks.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

function tasksOf({ report }: AllocationStatus): readonly string[] {
  return Object.keys(report?.tasks ?? {});
}
