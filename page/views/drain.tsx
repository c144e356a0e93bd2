import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { drainPreview } from '../../src/clients/drain-preview.ts';
import { plural } from '../../src/wire/values/words.ts';
import { useCell, usePolled } from '../parts/hooks.ts';
import { Confirm, Loading, Table } from '../parts/parts.ts';

const EVERY_MS = 10_000;

/** Asks before the host is drained, and says how each of its allocations would leave. */
export function Drain(props: {
  readonly host: string;
  readonly onDone: (error: Error | null) => void;
}): JSX.Element {
  const { host, onDone } = props;
  const { client } = useCell();
  const [reason, setReason] = useState('');
  const there = usePolled(`drain ${host}`, EVERY_MS, (signal) =>
    drainPreview(client, host, { hasDeadline: false, signal }),
  );
  const drain = (): void => {
    client.setEligibility(host, { state: 'draining', reason }).then(
      () => onDone(null),
      (error: unknown) => onDone(error as Error),
    );
  };
  return (
    <Confirm title={`Drain ${host}?`} yes="Drain it" onYes={drain} onNo={() => onDone(null)}>
      {there.value === null ? (
        <Loading error={there.error} />
      ) : (
        <>
          <p>{`${plural(there.value.length, 'allocation')} would leave; nothing new is placed there.`}</p>
          <Table
            label="What would move"
            empty="Nothing runs there."
            rows={there.value}
            keyOf={({ id }) => id}
            columns={[
              { head: 'Allocation', cell: ({ name }) => name },
              { head: 'How it leaves', cell: ({ how }) => <span title={how}>{how}</span> },
            ]}
          />
        </>
      )}
      <label>
        Reason
        <input value={reason} maxLength={200} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}
