import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Task } from '../../src/core/cell/job.ts';
import type { IdRange } from '../../src/core/host/shim.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { StartRequest } from '../../src/wire/api/host-api.ts';
import { leftOf } from '../support/driver-world.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { busyboxImage } from '../support/image-archive.ts';
import { runInside } from '../support/inside.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';
import type { AgentChild } from '../support/real-host.ts';
import {
  buildShim,
  hostClient,
  readAll,
  startAgentChild,
  stateFolder,
  untilReport,
} from '../support/real-host.ts';

const APPLETS = ['chown', 'mkdir', 'mknod', 'mount', 'stat', 'umount'];
const IDS_EACH = 65_536;
/** The user that it becomes at last. */
const SERVICE = 33;
const isUp = (report: AllocationReport): boolean => report.state === 'running' || report.released;

/** What an entry point does that starts as root, and what a hostile one tries. `become` changes its user for good. */
const scriptOf = (become: string, data: string, prelude: string): string => `${prelude}
echo "begins as $(id -u):$(id -g)"
mkdir -p ${data} && touch ${data}/f && chown -R 1000:1000 ${data} && echo "owner $(stat -c %u:%g ${data}/f)"
${become} 1000 sh -c 'echo "then $(id -u) $(id -G)"; echo mine >${data}/f && echo "writes its own"; grep CapEff /proc/self/status'
${become} ${String(SERVICE)} sh -c '(echo x >${data}/f) 2>/dev/null && echo "REACHED a file of 1000"; echo "at last $(id -u)"'
chown 70000 ${data}/f 2>/dev/null && echo "REACHED an id outside"
for path in kernel/panic kernel/core_pattern vm/drop_caches; do (echo 1 >/proc/sys/$path) 2>/dev/null && echo "REACHED $path"; done
mount -t tmpfs none /mnt 2>/dev/null && echo REACHED mount; umount /proc 2>/dev/null && echo REACHED umount
for node in "c 1 1" "c 10 229" "b 254 0" "b 7 0"; do mknod /work/node $node 2>/dev/null && echo "REACHED node $node"; done
ls -d "$OTHER" 2>/dev/null && echo REACHED another; kill -0 $OTHER_PID 2>/dev/null && echo REACHED a process
touch /usr/moorage-test 2>/dev/null && [ -e /usr/bin/env ] && echo "REACHED the programs of the host"
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
touch /work/left && chown ${String(SERVICE)} /work/left && ln -s /etc/shadow /work/link && chown -h 5 /work/link
exec ${become} ${String(SERVICE)} sh -c 'trap "exit 7" TERM; echo up; while :; do sleep 9999 & wait; done'`;

function statusOf(pid: number, name: string): string {
  const text = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return new RegExp(`^${name}:\t(.*)$`, 'm').exec(text)?.[1] ?? '';
}

/** A process and all below it. */
function familyOf(pid: number): number[] {
  const children = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8')
    .split(' ')
    .map(Number)
    .filter((child) => child > 0);
  return [pid, ...children.flatMap(familyOf)];
}

describeNeeding(
  firstMissing(root(), ...['cc', 'bwrap', 'busybox', 'nsenter', 'setpriv', 'crun', 'runc'].map(program)),
  'tasks that begin as root of a user namespace',
  () => {
    const folder = stateFolder();
    const state = join(folder.path, 'state');
    const http = hostClient();
    const { client } = http;
    const agents = new Set<AgentChild>();
    let shim = '';
    let image: NonNullable<Task['image']>;

    beforeAll(() => {
      shim = buildShim(folder.path) ?? '';
      const become = join(folder.path, 'become');
      const source = fileURLToPath(new URL('../support/become.c', import.meta.url));
      expect(spawnSync('cc', ['-static', '-o', become, source], { encoding: 'utf8' }).stderr).toBe('');
      const bytes = busyboxImage(folder.path, 'docker', [become], '1000', APPLETS);
      const file = join(folder.path, 'image');
      writeFileSync(file, bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      image = { source: `file://${file}`, sha256, unpack: true };
    });
    afterEach(async () => {
      for (const agent of agents) await agent.end('SIGTERM');
      agents.clear();
    });
    afterAll(async () => {
      await http.close();
      folder[Symbol.dispose]();
    });

    async function startAgent(ociRuntime: 'crun' | 'runc'): Promise<AgentChild> {
      const artifactSources = [`file://${folder.path}/`];
      const agent = await startAgentChild(state, shim, {
        artifactSources,
        ociRuntime,
        stopTasksOnExit: true,
      });
      agents.add(agent);
      return agent;
    }

    const specOf = (id: string): { readonly uid: number; readonly ids?: IdRange } =>
      JSON.parse(readFileSync(join(state, 'allocations', id, 'spec.json'), 'utf8')) as {
        uid: number;
        ids?: IdRange;
      };
    const leases = (): string[] => readdirSync(join(state, 'leases', 'ids'));
    const outputOf = async (address: string, id: string): Promise<string> => {
      const ask = { task: 'main', stream: 'stdout', offset: 0, follow: false } as const;
      return (await readAll((await client.logs(address, id, ask)).chunks)).toString();
    };

    async function isUpAt(address: string, id: string): Promise<void> {
      while (!(await outputOf(address, id)).includes('up\n'))
        await new Promise((next) => setTimeout(next, 20));
    }

    function order(driver: 'sandbox' | 'oci', other: { id: string; pid: number }): StartRequest {
      const script =
        driver === 'oci'
          ? scriptOf('/bin/become', '/data', '')
          : scriptOf('/work/become', '/work/data', SETPRIV);
      const env = {
        OTHER: join(state, 'allocations', other.id),
        OTHER_PID: String(other.pid),
      };
      const command = ['/bin/sh', '-c', script];
      const own = driver === 'oci' ? { image } : {};
      return someStart({ tasks: [someTask({ driver, user: 'root', command, env, ...own })] });
    }

    async function start(agent: AgentChild, request: StartRequest): Promise<{ id: string; pid: number }> {
      const { id } = request.allocation;
      expect(await client.start(agent.address, request)).toMatchObject({ kind: 'started' });
      const report = await untilReport(client, agent.address, id, isUp);
      expect(report.state, report.reason).toBe('running');
      return { id, pid: report.tasks['main']?.pid ?? 0 };
    }

    /** Who joins nothing of it but its user namespace has all its rights there, and all of the machine in sight. */
    function escaped({ pid }: { pid: number }, other: { id: string; pid: number }): string {
      const tries = [
        `cat /proc/${String(other.pid)}/environ`,
        `ls /proc/${String(other.pid)}/root/`,
        `kill -0 ${String(other.pid)}`,
        `ls ${state}/allocations/${other.id}/work`,
        'sh -c "echo 1 >/proc/sys/kernel/panic"',
        'cat /etc/shadow',
        `ls ${state}`,
        'mount -t tmpfs none /mnt',
        'mknod /tmp/moorage-test-node b 254 0',
        'chroot / cat /etc/shadow',
      ];
      const script = tries.map((line) => `${line} >/dev/null 2>&1 && echo 'REACHED ${line}'`).join('\n');
      const done = spawnSync(
        'nsenter',
        ['-U', '-t', String(pid), '-S', '0', '-G', '0', 'sh', '-c', `${script}\necho tried`],
        { encoding: 'utf8' },
      );
      return `${done.stdout}${done.stderr}`;
    }

    describe.each([
      ['sandbox', 'crun'],
      ['oci', 'crun'],
      ['oci', 'runc'],
    ] as const)('%s with %s', (driver, runtime) => {
      it('I45 I68 one changes users and owners as root does, and is nobody outside; the range survives its agent, and comes back', async () => {
        let agent = await startAgent(runtime);
        const first = await start(agent, order(driver, { id: 'none', pid: 1 }));
        const second = await start(agent, order(driver, first));
        await isUpAt(agent.address, first.id);
        await isUpAt(agent.address, second.id);
        const said = await outputOf(agent.address, second.id);
        expect(said).not.toContain('REACHED');
        for (const line of [
          'begins as 0:0',
          'owner 1000:1000',
          /then 1000 1000( 100)?\n/,
          'writes its own',
          /CapEff:\t0{16}\n/,
          `at last ${String(SERVICE)}`,
          /CapEff:\t00000000800405fb\nCapBnd:\t00000000800405fb\nNoNewPrivs:\t1\nSeccomp:\t2\n/,
        ])
          expect(said).toMatch(line);

        const [a, b] = [first, second].map(({ id }) => specOf(id).ids ?? { first: 0, count: 0 });
        if (a === undefined || b === undefined) throw new Error('no ranges');
        expect([a.count, b.count]).toEqual([IDS_EACH, IDS_EACH]);
        expect(Math.abs(a.first - b.first)).toBeGreaterThanOrEqual(IDS_EACH);
        for (const [task, { first: low, count }] of [
          [first, a],
          [second, b],
        ] as const) {
          // Its loop begins a process ten times a second, which may end while it is looked at.
          await vi.waitFor(() => {
            const map = readFileSync(`/proc/${String(familyOf(task.pid).at(-1))}/uid_map`, 'utf8');
            expect(map.trim().split(/\s+/).map(Number)).toEqual([0, low, count]);
            for (const pid of familyOf(task.pid))
              for (const name of ['Uid', 'Gid'])
                for (const id of statusOf(pid, name).split('\t').map(Number)) {
                  expect(id).toBeGreaterThanOrEqual(low);
                  expect(id).toBeLessThan(low + count);
                }
            expect(statusOf(familyOf(task.pid).at(-1) ?? 0, 'Uid')).toContain(String(low + SERVICE));
          }, 10_000);
        }
        expect(escaped(second, first)).toBe('tried\n');
        const left = join(state, 'allocations', second.id, 'work', 'left');
        expect(lstatSync(left).uid).toBe(b.first + SERVICE);

        await agent.end('SIGKILL');
        agents.delete(agent);
        agent = await startAgent(runtime);
        const after = await untilReport(client, agent.address, second.id, isUp);
        expect(after.tasks['main']?.pid).toBe(second.pid);
        expect(leases().sort()).toEqual([a.first, b.first].map(String).sort());
        const inside = await runInside(client, agent.address, second.id, `id -u; ${LOOK}`);
        expect(inside.said).toMatch(/^0\nCapEff:\t00000000800405fb\nNoNewPrivs:\t1\nSeccomp:\t2\n$/);
        const third = await start(agent, order(driver, second));
        expect(leases()).toHaveLength(3);
        await isUpAt(agent.address, third.id);

        for (const { id } of [first, second, third]) {
          await client.stop(agent.address, id, someStop());
          const end = await untilReport(client, agent.address, id, (report) => report.released);
          expect(end).toMatchObject({ state: 'killed', exit: { code: 7 } });
          expect(await leftOf(id)).toEqual([]);
          // What it left is its single user's: nothing on this machine is of its range any more.
          const { uid } = specOf(id);
          const work = join(state, 'allocations', id, 'work');
          for (const name of ['.', 'left', 'link']) expect(lstatSync(join(work, name)).uid).toBe(uid);
          expect(readdirSync(join(state, 'allocations', id))).not.toContain('layers');
          await client.remove(agent.address, id, `remove-${id}`);
        }
        expect(leases()).toEqual([]);
        expect(lstatSync('/etc/shadow').uid).toBe(0);
        await agent.end('SIGTERM');
        agents.delete(agent);
      });
    });

    it.each(['crun', 'runc'] as const)(
      'I68 a container of %s that does not ask for it has a range of its own, too, and no right in it',
      async (runtime) => {
        const agent = await startAgent(runtime);
        const script = `id -u; touch /work/left && echo writes; touch /data 2>/dev/null && echo "REACHED the image"; ${LOOK}
trap "exit 7" TERM; echo up; while :; do sleep 9999 & wait; done`;
        const task = someTask({ driver: 'oci', command: ['/bin/sh', '-c', script], image });
        const { id, pid } = await start(agent, someStart({ tasks: [task] }));
        await isUpAt(agent.address, id);
        expect(await outputOf(agent.address, id)).toMatch(
          /^1000\nwrites\nCapEff:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2\nup\n$/,
        );
        const { uid, ids } = specOf(id);
        const user = (ids?.first ?? 0) + 1000;
        for (const one of familyOf(pid))
          expect(statusOf(one, 'Uid').split('\t').map(Number)).toEqual([user, user, user, user]);
        const work = join(state, 'allocations', id, 'work');
        expect(lstatSync(join(work, 'left')).uid).toBe(user);
        const inside = await runInside(client, agent.address, id, `id -u; ${LOOK}`);
        expect(inside.said).toMatch(/^1000\nCapEff:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2\n$/);
        await client.stop(agent.address, id, someStop());
        const end = await untilReport(client, agent.address, id, (report) => report.released);
        expect(end).toMatchObject({ exit: { code: 7 } });
        expect(await leftOf(id)).toEqual([]);
        expect(lstatSync(join(work, 'left')).uid).toBe(uid);
        await client.remove(agent.address, id, `remove-${id}`);
        expect(leases()).toEqual([]);
      },
    );

    it('I68 a host whose operator does not allow it refuses the start, with what would', async () => {
      const agent = await startAgentChild(state, shim, { allow: ['host-network'], stopTasksOnExit: true });
      agents.add(agent);
      const answer = await client.start(agent.address, order('sandbox', { id: 'none', pid: 1 }));
      expect(JSON.stringify(answer)).toContain('--allow root');
    });
  },
);

const LOOK = `grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status`;
/** As \`become\`, of this machine's own programs. */
const SETPRIV = `cat >/work/become <<'END'
#!/bin/sh
one=$1; shift; exec setpriv --reuid "$one" --regid "$one" --clear-groups "$@"
END
chmod 755 /work/become; chmod 755 /work`;
