/**
 * Each role of a cell as a verb. A role's file turns its flags into the options of its `main.ts`: `agent.ts`, `hollow.ts`
 * (many hosts in one process, which run nothing), `scheduler.ts`, `monitor.ts`, `arbiter.ts`.
 *
 * 1. `options.ts` reads the flags that all roles have; `addresses.ts` reads `--addresses`,
 *    `amounts.ts` what a host announces and reserves.
 * 2. `serve.ts` starts the role, prints its ready line and keeps it until it is stopped.
 * 3. Before that, `probe-store.ts` asks the store once.
 * 4. `faults.ts` words what keeps a role from starting.
 */
import type { Command } from 'commander';
import { Option } from 'commander';
import type { AgentFlags } from './agent.ts';
import type { ArbiterFlags } from './arbiter.ts';
import type { HollowFlags } from './hollow.ts';
import type { MonitorFlags } from './monitor.ts';
import type { SchedulerFlags } from './scheduler.ts';
import { ELASTIC_POLICIES, SCHEDULER_KINDS } from '../../src/core/cell/job.ts';
import type { ProgramInput } from '../command/command.ts';
import { collect, countOrAll, wholeNumber } from '../command/command.ts';

/** The largest cell that the design speaks of. */
const HOLLOW_MAX = 100_000;
/** More transactions at once only wait in the store. */
const IN_FLIGHT_MAX = 64;
const ELASTIC_FACTOR_MAX = 1_000;
const SLICE_MAX = 100_000;
/** All of them lie in the store and in every monitor's memory. */
const OUTCOMES_KEPT_MAX = 1_000;
const VERSIONS_KEPT_MAX = 10_000;
const JOBS_KEPT_MAX = 10_000_000;

/** The verbs of this room: each is a process that stays. */
export const ROLE_VERBS: readonly string[] = ['agent', 'hollow', 'scheduler', 'monitor', 'arbiter'];

export function addRoleVerbs(program: Command, { run }: ProgramInput): void {
  roleVerb(program, 'agent', 'runs tasks on this host')
    .option('--data <folder>', 'what must outlive the agent; one agent for each')
    .option('--keys <folder>', 'holds the pinned public keys of the arbiters')
    .option('--no-tickets', 'start tasks without a ticket')
    .option('--cpu <amount>', 'cores to announce; without it what the machine has')
    .option('--memory <size>', 'memory to announce')
    .option('--disk <size>', 'disk to announce')
    .option(
      '--resource <name=amount>',
      'what jobs ask for as resources.scalars, such as licence=5; repeat it for several',
      collect,
      [],
    )
    .option(
      '--reserve <amounts>',
      'what is never given away, such as cpu=500m,memory=1Gi (default: 100m and up to 256Mi)',
    )
    .option(
      '--gpu-model <model>',
      'a device to announce, with its nodes as in a100=/dev/nvidia0,/dev/nvidiactl; repeat it for each',
      collect,
      [],
    )
    .option('--ports <first-last>', 'ports for tasks (default: 20000-29999)')
    .option('--addresses <network>', 'addresses of this machine to lend to tasks, such as 127.64.0.0/28')
    .option('--dns <host:port>', 'answer DNS for names of what runs, at a loopback address: 127.0.0.1:8600')
    .option(
      '--names-kept <time>',
      'names are told for so long after the last word of a monitor, then not at all (default: 1h)',
    )
    .option('--attribute <name=value>', 'for constraints, such as zone=a; may be repeated', collect, [])
    .option(
      '--volume <name=path>',
      'a folder to announce as a volume, with ,ro for reading only; may be repeated',
      collect,
      [],
    )
    .option(
      '--volume-driver <name=command>',
      'a program that brings volumes of scope global, with options as in nfs=/opt/nfs,/mnt; may be repeated',
      collect,
      [],
    )
    .option(
      '--beat <time>',
      'how often it says that it is there, at most (default: 1s); a monitor of more than 1000 hosts asks for less',
    )
    .option('--artifact-source <prefix>', 'artifacts come from there only; may be repeated', collect, [])
    .option('--cgroup-parent <group>', 'makes the control groups of tasks under this one')
    .option('--oci-runtime <name>', 'crun or runc; without it the first that works')
    .option(
      '--task-uids <first-last>',
      'users of this host for tasks, one for each allocation (default: a range far up)',
    )
    .option(
      '--task-ids <first-last>',
      'ids of this host for user namespaces of tasks, 65,536 for each allocation (default: a range far up)',
    )
    .option('--allow <what>', 'what tasks may ask beyond being strangers; may be repeated', collect, [])
    .option('--bare', 'wait until "moorage bootstrap" makes this machine a host; prints the token for it')
    .option('--stop-tasks-on-exit', 'tasks end with the agent; without it they run on')
    .action((flags: AgentFlags) =>
      run({}, async (context) => (await import('./agent.ts')).serveAgent(context, flags)),
    );
  roleVerb(program, 'hollow', 'many host-agents in one process, whose tasks only take time')
    .option('--hosts <file>', 'a JSON list of { id, cpuMilli, memoryMib, scalars, gpuModels, attributes }')
    .option('--count <n>', 'without --hosts: this many equal ones', wholeNumber(1, HOLLOW_MAX), 10)
    .option('--cpu <amount>', 'of each (default: 4)')
    .option('--memory <size>', 'of each (default: 8Gi)')
    .option('--disk <size>', 'of each (default: 1Ti)')
    .option(
      '--resource <name=amount>',
      'what jobs ask for as resources.scalars, such as licence=5; repeat it for several',
      collect,
      [],
    )
    .option(
      '--reserve <amounts>',
      'of each, what is never given away, such as cpu=500m,memory=1Gi (default: nothing)',
    )
    .option('--keys <folder>', 'holds the pinned public keys of the arbiters')
    .option('--no-tickets', 'start tasks without a ticket')
    .option('--beat <time>', 'how often each says that it is there, at most (default: 1s)')
    .action((flags: HollowFlags) =>
      run({}, async (context) => (await import('./hollow.ts')).serveHollow(context, flags)),
    );
  roleVerb(program, 'scheduler', 'places the jobs of one kind, beside any number of others')
    .addOption(
      new Option('--kind <kind>', 'which jobs it works on').choices(SCHEDULER_KINDS).makeOptionMandatory(),
    )
    .option('--score <policy>', 'how it chooses hosts: binpack, service, level, random-fit, fgd')
    .addOption(
      new Option('--conflict-check <kind>', 'what counts as a conflict').choices(['resource-fit', 'version']),
    )
    .addOption(
      new Option('--atomicity <kind>', 'what a conflict refuses').choices(['incremental', 'all-or-nothing']),
    )
    .option('--in-flight <n>', 'transactions under way at once', wholeNumber(1, IN_FLIGHT_MAX))
    .option(
      '--slice <n>',
      'placements decided for one job before the next has its turn',
      wholeNumber(1, SLICE_MAX),
    )
    .addOption(
      new Option(
        '--elastic-policy <policy>',
        'with --kind elastic: how far jobs grow into idle capacity (default: global-cap)',
      ).choices(ELASTIC_POLICIES),
    )
    .option(
      '--elastic-cap <percent>',
      'of global-cap: growth leaves the cell no fuller than this (default: 60)',
      wholeNumber(1, 100),
    )
    .option(
      '--elastic-factor <n>',
      'of relative-job-size: at most so many times the minimum (default: 4)',
      wholeNumber(1, ELASTIC_FACTOR_MAX),
    )
    .option('--think-job <time>', "for studies: a decision's time for each job")
    .option('--think-task <time>', "for studies: a decision's time for each task")
    .option('--no-tickets', 'start tasks without a ticket')
    .option(
      '--orphan-after <time>',
      'what is to end on a lost host is given up after this time, its capacity and quota with it (default: 24h)',
    )
    .option(
      '--outcomes-per-slot <n>',
      'ended allocations kept of each slot, or "all"; the same for schedulers and monitors (default: 5)',
      countOrAll(OUTCOMES_KEPT_MAX),
    )
    .option('--session-ttl <time>', 'its jobs are taken over after this silence (default: 10s)')
    .addOption(
      new Option(
        '--rehearse <when>',
        'have its code compiled for large bursts: before it serves, or when it has nothing to do',
      )
        .choices(['idle', 'first', 'never'])
        .default('idle'),
    )
    .action((flags: SchedulerFlags) =>
      run({}, async (context) => (await import('./scheduler.ts')).serveScheduler(context, flags)),
    );
  roleVerb(program, 'monitor', 'merges what hosts report, and serves the API')
    .option(
      '--silence <time>',
      'a host that said nothing for so long counts as silent (default: 3s with up to 1000 hosts, 30s with 10000 or more)',
    )
    .option('--lost-after <time>', 'from the end of a host\'s session to the verdict "lost" (default: 18s)')
    .option(
      '--mass-loss-wait <time>',
      'the same for hosts that vanish together, before they are declared lost a few at a time (default: three times --lost-after)',
    )
    .option(
      '--orphan-after <time>',
      'what is to end on a lost host is given up after this time, its capacity and quota with it (default: 24h)',
    )
    .option(
      '--fence <name=program>',
      'a program that fences lost hosts for the jobs that name it: PROGRAM fence HOST INCARNATION ends with 0 when the host runs no more what it ran; repeat it',
      collect,
      [],
    )
    .option(
      '--alarm-after <time>',
      'how long a job may wait, stop or loop before it is an alarm (default: 10m)',
    )
    .option('--fence-timeout <time>', 'a program that takes longer has confirmed nothing (default: 30s)')
    .option('--run-retention <time>', 'how long an ended one-off run is kept (default: 1h)')
    .option(
      '--runs-kept <n>',
      'how many of those are kept, the newest (default: 10000)',
      wholeNumber(0, JOBS_KEPT_MAX),
    )
    .option('--job-retention <time>', 'how long any other ended job is kept, or "all" (default: 30d)')
    .option(
      '--jobs-kept <n>',
      'how many of those are kept, the newest (default: 10000)',
      wholeNumber(0, JOBS_KEPT_MAX),
    )
    .option(
      '--version-retention <time>',
      'how long an earlier version of a job is kept, or "all" (default: 90d)',
    )
    .option(
      '--versions-kept <n>',
      'how many of each job are kept, or "all" (default: 20)',
      countOrAll(VERSIONS_KEPT_MAX),
    )
    .option(
      '--outcomes-per-slot <n>',
      'ended allocations kept of each slot, or "all"; the same for schedulers and monitors (default: 5)',
      countOrAll(OUTCOMES_KEPT_MAX),
    )
    .option('--history-kept <time>', 'how long the store keeps its past, or "all" (default: 10m)')
    .option('--store-quota <size>', "the quota of the store's servers, to warn before it (default: 2Gi)")
    .action((flags: MonitorFlags) =>
      run({}, async (context) => (await import('./monitor.ts')).serveMonitor(context, flags)),
    );
  roleVerb(program, 'arbiter', 'grants signed tickets within quotas')
    .option('--keys <folder>', "holds the arbiters' secret key")
    .action((flags: ArbiterFlags) =>
      run({}, async (context) => (await import('./arbiter.ts')).serveArbiter(context, flags)),
    );
}

function roleVerb(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--cell <name>', 'name of the cell', 'default')
    .option('--etcd <url>', 'the store; repeat it, or use commas, for several members', collect, [])
    .option('--id <name>', 'unique in the cell')
    .option('--listen <host:port>', 'where it serves; port 0 takes any free one', '127.0.0.1:0')
    .option('--advertise <url>', 'where others reach it, if not where it listens')
    .addOption(
      new Option(
        '--credentials <folder>',
        'its certificate and key, from "moorage pki issue": with them it speaks TLS only',
      ).env('MOORAGE_CREDENTIALS'),
    )
    .option(
      '--plain-outside-loopback',
      'listen beyond this machine without credentials: on a network that is trusted',
    )
    .addOption(
      new Option('--log-level <level>', 'what is logged')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .env('MOORAGE_LOG_LEVEL')
        .default('info'),
    )
    .option('--log-file <path>', 'where it logs; standard error without it');
}
