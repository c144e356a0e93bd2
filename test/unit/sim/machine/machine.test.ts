import { describe, expect, it } from 'vitest';
import { History } from '../../../../sim/history/history.ts';
import { Machine } from '../../../../sim/machine/machine.ts';
import { SimDisk } from '../../../../sim/machine/sim-disk.ts';
import { Agenda } from '../../../../sim/agenda/agenda.ts';
import { drive } from '../../../../sim/agenda/drive.ts';
import { Life } from '../../../../sim/agenda/life.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';

function machineOf() {
  const agenda = new Agenda();
  const history = new History(() => agenda.nowMs);
  const machine = new Machine({ host: 'h', agenda, history, random: seededRandom(1) });
  const agent = new Life('h');
  return { agenda, machine, agent, disk: new SimDisk(machine, agent) };
}

describe('a simulated machine', () => {
  it('F12 loses with its power what was not synced, keeps what was, and tears what was being appended', async () => {
    const { agenda, machine, disk } = machineOf();
    void disk.publish('kept', 'x');
    void disk.publish('loose', 'x', { durable: false });
    void disk.append('journal', 'first\n');
    await drive(agenda, { untilMs: 100 });
    expect(await disk.read('loose')).toBe('x');
    void disk.append('journal', 'second\n');
    machine.losePower();
    machine.boot();
    expect(await disk.read('kept')).toBe('x');
    expect(await disk.read('loose')).toBeNull();
    const journal = (await disk.read('journal')) ?? '';
    expect(journal.startsWith('first\n')).toBe(true);
    expect('first\nsecond\n'.startsWith(journal)).toBe(true);
  });

  it('F1 does what a dead agent had asked of the disk, and tells nobody', async () => {
    const { agenda, machine, agent, disk } = machineOf();
    let told = false;
    void disk.publish('a', 'x').then(() => (told = true));
    agent.end();
    await drive(agenda, { untilMs: 100 });
    expect(machine.content.read('a')).toBe('x');
    expect(told).toBe(false);
  });

  it('F11 refuses writes while the device is full, and takes them again afterwards', async () => {
    const { agenda, machine, disk } = machineOf();
    const undo = machine.disk.override({ fault: 'full' });
    const refused = disk.publish('a', 'x').catch((error: unknown) => error);
    await drive(agenda, { untilMs: 100 });
    expect(await refused).toMatchObject({ code: 'full', retryable: true });
    expect(await disk.freeBytes()).toBe(0);
    undo();
    const taken = disk.publish('a', 'x');
    await drive(agenda, { untilMs: 200 });
    expect(await taken).toBe('published');
  });
});
