import type { AgentCrypto, HostFacts } from '../../host-agent/agent.ts';
import { HostAgent } from '../../host-agent/agent.ts';
import { AGENT_SETTINGS, PORT_RANGE } from '../../host-agent/defaults.ts';
import type { AgentSettings } from '../../host-agent/agent-context.ts';
import type { AgentPorts, AskEpoch } from '../../host-agent/ports.ts';
import type { HeldRestarts } from '../../host-agent/tasks/held-restarts.ts';
import { MemoryDisk } from '../../src/adapters/memory/disk.ts';
import { HollowProcesses } from '../../src/adapters/memory/processes.ts';
import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { NO_RESOURCES } from '../../src/core/cell/resources.ts';
import type { Cgroups } from '../../src/ports/cgroups.ts';
import type { Probes } from '../../src/ports/probes.ts';
import type { Metrics } from '../../src/ports/telemetry.ts';
import { ManualClock } from './manual-clock.ts';

export const HOST_FACTS: HostFacts = {
  id: 'host-a',
  address: 'http://memory/1',
  capacity: { cpuMilli: 1_000, memoryMib: 1_024, diskMib: 1_024, scalars: {} },
  reserved: NO_RESOURCES,
  gpuModels: [],
  portRange: PORT_RANGE,
  attributes: {},
  agentVersion: 'test',
};

/** A host in memory, whose agent can be lost and started again while its tasks go on. */
export class HostWorld {
  readonly clock = new ManualClock();
  readonly disk = new MemoryDisk();
  /** Absent: tasks are held to nothing. */
  cgroups?: Cgroups;
  processes = new HollowProcesses({ disk: this.disk, clock: this.clock });
  /** Absent: no task is checked. */
  probes?: Probes;
  metrics: Metrics = silentMetrics;
  /** Absent: no operator holds back restarts. */
  restarts?: HeldRestarts;
  /** Absent: whatever epoch an order has is taken. */
  epochs?: AskEpoch;
  agent!: HostAgent;

  get ports(): AgentPorts {
    const { clock, disk, processes, metrics } = this;
    return {
      ...{ clock, disk, processes, random: seededRandom(1), log: silentLog, metrics },
      ...(this.cgroups === undefined ? {} : { cgroups: this.cgroups }),
      ...(this.probes === undefined ? {} : { probes: this.probes }),
      ...(this.restarts === undefined ? {} : { restarts: this.restarts }),
      ...(this.epochs === undefined ? {} : { epochs: this.epochs }),
    };
  }

  async open(
    crypto: AgentCrypto = { verifier: null, digest: sha256Hex },
    settings: Partial<AgentSettings> = {},
    scalars: Readonly<Record<string, number>> = {},
  ): Promise<HostAgent> {
    const facts = { ...HOST_FACTS, capacity: { ...HOST_FACTS.capacity, scalars } };
    this.agent = await HostAgent.open(this.ports, facts, crypto, { ...AGENT_SETTINGS, ...settings });
    return this.agent;
  }

  /** The agent is gone as after kill -9: nothing of it acts any more, and what runs goes on. */
  async loseAgent(): Promise<void> {
    await this.agent.close();
  }

  /** The machine starts anew: no process of before is left. */
  reboot(bootId: string): void {
    this.processes = new HollowProcesses({ disk: this.disk, clock: this.clock, bootId });
  }

  /** Resolves when the allocation's report satisfies the test; moves the clock while waiting. */
  async until(
    id: string,
    test: (report: AllocationReport) => boolean,
    stepMs = 50,
  ): Promise<AllocationReport> {
    for (let step = 0; step < STEPS_MAX; step++) {
      const report = this.agent.run(id)?.report();
      if (report !== undefined && test(report)) return report;
      await this.clock.advance(stepMs);
    }
    throw new Error(`waited in vain: ${JSON.stringify(this.agent.run(id)?.report())}`);
  }
}

const STEPS_MAX = 2_000;
