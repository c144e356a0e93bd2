import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { collide } from '../../cli/dev/collision.ts';
import { fastifyServer } from '../../src/adapters/http/http.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { readPageFiles } from '../../src/adapters/system/page-files.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import { hostCodec } from '../../src/wire/records/records.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { pidIn, PROJECT_ROOT, startDevCell, testFolder } from '../support/cli.ts';
import { hostRecord, MonitorWorld } from '../support/monitor-world.ts';
import { describeNeeding, firstMissing, program } from '../support/needs.ts';

/** What the page looked like in the last run, for people. */
const PICTURES = join(PROJECT_ROOT, '.moorage', 'pictures');
const WIDTHS = [360, 1440] as const;
const HEIGHT = 900;
/** A process that is started serves later than this. */
const LOOK_MS = 50;
/** What keeps some people from using a page at all. */
const SERIOUS: ReadonlySet<string | null | undefined> = new Set(['serious', 'critical']);

interface AxeWindow {
  readonly axe: {
    run(): Promise<{
      violations: readonly { id: string; impact: string | null; nodes: readonly { html: string }[] }[];
    }>;
  };
}

describeNeeding(firstMissing(program('chromium')), 'the page', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  /** What the page complained of: a policy that it broke, an error of its own. */
  const complaints: string[] = [];

  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
    // The cell has an authority of its own.
    context = await browser.newContext({
      ignoreHTTPSErrors: true,
      viewport: { width: 1440, height: HEIGHT },
    });
    page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
    page.on('console', (message) => {
      if (/Content Security Policy|Trusted/i.test(message.text())) complaints.push(message.text());
    });
  });
  afterAll(async () => {
    await browser.close();
  });

  const see = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();
  const go = (view: string): Promise<void> => page.getByRole('link', { name: view, exact: true }).click();

  /** The view as it stands: what axe finds on a phone and on a desk, and what it looks like. */
  async function look(name: string): Promise<void> {
    const found: string[] = [];
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      await page.emulateMedia({ colorScheme: width === 360 ? 'dark' : 'light' });
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => (globalThis as unknown as AxeWindow).axe.run());
      for (const { id, impact, nodes } of violations)
        if (SERIOUS.has(impact)) found.push(`${name} at ${String(width)}: ${id}: ${nodes[0]?.html ?? ''}`);
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      if (Number(wide) > 0)
        found.push(`${name} at ${String(width)}: wider than the window by ${String(wide)}`);
      await page.screenshot({ path: join(PICTURES, `${name}-${String(width)}.png`) });
    }
    expect(found).toEqual([]);
  }

  describeNeeding(null, 'on a cell whose schedulers compete', () => {
    const folder = testFolder();
    let cell: DevCellProcess;
    let http: HttpClient;
    let clients: readonly MonitorClient[];

    beforeAll(async () => {
      cell = await startDevCell(folder.path);
      const credentials = openCredentials(cell.file.credentials ?? '', null);
      http = nodeClient(credentials);
      clients = cell.file.monitors.map((url) => new MonitorClient(http, { urls: [url], from: 'the test' }));
    });
    afterAll(async () => {
      await page.goto('about:blank');
      await http.close();
      await cell.stop();
      folder[Symbol.dispose]();
    });

    /** The monitor that the page came from, and one that it did not come from. */
    const [home, other] = [() => clients[0] as MonitorClient, () => clients[1] as MonitorClient];

    it('28 asks who you are, and lets nobody in with a token that was never made', async () => {
      await page.goto(`${cell.file.monitors[0] ?? ''}/`);
      await page.getByLabel('Token').fill('moorage.01000000000000000000000000.made-up');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await see('never made, has ended, or was revoked');
      await look('login');
    });

    it('28 the link that `moorage dev` prints lets in, and its token goes from the address', async () => {
      const link = /page: +(\S+)/.exec(cell.output())?.[1] ?? '';
      expect(link).toMatch(/#token=moorage\./);
      await page.goto('about:blank');
      await page.goto(link);
      await see('Hosts by');
      expect(page.url()).not.toContain('token');
      for (const id of ['batch-1', 'batch-2', 'service-1', 'system-1'])
        await page.getByRole('rowheader', { name: id }).waitFor();
    });

    it('28 a one-off run from the form: its output as it comes, and its exit code', async () => {
      await go('Run');
      await page.getByLabel('Script').fill('echo "from $MOORAGE_HOST"; echo trouble >&2; exit 3');
      await page.getByRole('button', { name: 'Run once' }).click();
      await page
        .getByRole('log', { name: 'stdout' })
        .getByText(/from host-\d/)
        .waitFor();
      await page.getByRole('log', { name: 'stderr' }).getByText('trouble').waitFor();
      await see(/exit code 3/);
      await look('run');
    });

    it('28 jobs with a filter, a job with its allocations and its output, live', async () => {
      await other().submit({
        ...{ name: 'web', type: 'service', count: 2 },
        script: 'echo "I am on $MOORAGE_HOST"; sleep 1000',
      });
      await go('Jobs');
      await page.getByLabel(/^Filter/).fill('web');
      await page.getByRole('link', { name: 'default/web' }).waitFor();
      expect(await page.getByRole('table').getByRole('link').count()).toBe(1);
      await look('jobs');
      await page.getByRole('link', { name: 'default/web' }).click();
      await see(/2 of 2 running/);
      await page.getByRole('button', { name: /^Show output of .*\[0\]/ }).click();
      await page.getByRole('log').getByText('I am').waitFor();
      await look('job');
    });

    it('28 a terminal in an allocation: keys go there and output comes, in colours, at the size of the window', async () => {
      await page.getByRole('button', { name: /^Open a terminal in .*\[0\]/ }).click();
      await page.getByRole('button', { name: 'Open the terminal' }).click();
      const terminal = page.getByRole('region', { name: /^Terminal in web/ });
      await terminal.getByText('● live').waitFor();
      const shows = (text: string | RegExp): Promise<void> =>
        terminal.locator('.xterm-rows').getByText(text).last().waitFor();
      await page.keyboard.type('printf "\\033[38;2;200;30;30m%s\\033[0m\\n" "in ${MOORAGE_HOST}."\n');
      await shows(/^in host-\d\.$/);
      const sizeAt = async (width: number): Promise<number> => {
        await page.setViewportSize({ width, height: HEIGHT });
        // A size that the command has not heard of yet is asked for again.
        for (;;) {
          await page.keyboard.type('clear; echo "has $(stty size | cut -d" " -f2)."\n');
          await shows(/^has \d+\.$/);
          const rows = await terminal.locator('.xterm-rows').textContent();
          const columns = Number(/has (\d+)\./.exec(rows ?? '')?.[1]);
          // The screen may have been cleared since.
          if (columns > 0 && width > 1000 === columns > 80) return columns;
        }
      };
      expect(await sizeAt(1440)).toBeGreaterThan(80);
      expect(await sizeAt(360)).toBeLessThan(80);
      await look('terminal');
      // The keyboard gets out again, and back in.
      await page.keyboard.press('Shift+Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Close the terminal');
      await page.keyboard.press('Tab');
      await page.keyboard.type('exit 5\n');
      await terminal.getByText('■ ended, exit code 5').waitFor();
      await page.getByRole('button', { name: 'Close the terminal' }).click();
      expect(await terminal.count()).toBe(0);
    });

    it('28 an update: it waits for a word, is paused, promoted and undone from here, and its allocations stand in time', async () => {
      const web = (script: string) => ({
        ...{ name: 'rolls', type: 'service', count: 2, script },
        update: { canary: 1, minHealthy: '500ms' },
      });
      await other().submit(web('sleep 1000'));
      await page.goto(`${page.url().split('#')[0] ?? ''}#/jobs/default/rolls`);
      await see(/2 of 2 running/);
      await other().submit(web('sleep 2000'));
      const says = async (act: string): Promise<void> => {
        await page.getByRole('button', { name: act, exact: true }).click();
        await page.getByRole('dialog').getByRole('button', { name: act, exact: true }).click();
      };
      await says('Pause the update');
      await see('paused');
      await says('Resume the update');
      await see(/the canary is up/);
      await look('rollout');
      await says('Promote the canaries');
      await page.getByRole('row', { name: /^2 .* current, good 2$/ }).waitFor();
      const times = page.getByRole('region', { name: 'Allocations over time' });
      // Two of each version, and the canary.
      await times
        .getByRole('row', { name: /rolls\[\d\] 1 .*\d\d:\d\d:\d\d .*killed/ })
        .nth(1)
        .waitFor();
      await times
        .getByRole('row', { name: /rolls\[\d\] 2 .*running/ })
        .nth(1)
        .waitFor();
      await look('timeline');
      await says('Undo');
      await page.getByRole('row', { name: /^3 .* current.*version 1 again/ }).waitFor();
    });

    it('28 why a job waits: each host, and the check that refused it', async () => {
      await home().submit({ name: 'huge', type: 'batch', command: ['true'], resources: { cpu: '64' } });
      await go('Cell');
      await page.getByRole('link', { name: 'default/huge' }).click();
      await page
        .getByRole('row', { name: /host-\d resources lacks \d+m cpu/ })
        .first()
        .waitFor();
      await look('why');
      await go('Cell');
      await see(/^Memory used$/);
      await look('cell');
    });

    it('28 who may only look is offered nothing that changes the cell, and enters no task', async () => {
      const { token } = await home().createToken({
        ...{ name: 'guest', scope: 'read', namespaces: null, ttlMs: 600_000 },
      });
      const guest = await context.newPage();
      await guest.goto(`${cell.file.monitors[0] ?? ''}/#token=${token}`);
      await guest.getByText('Hosts by').waitFor();
      for (const [view, sign] of [
        ['hosts', 'host-1'],
        ['jobs/default/web', 'Allocations over time'],
        ['run', 'its scope is read'],
      ] as const) {
        await guest.goto(`${cell.file.monitors[0] ?? ''}/#/${view}`);
        await guest.getByText(sign).first().waitFor();
        expect(await guest.getByRole('button', { name: /Drain|Stop|Undo|terminal|Run once/ }).count()).toBe(
          0,
        );
      }
      await guest.close();
    });

    it('28 a conflict, told step by step', async () => {
      await collide({ monitors: clients, host: 'host-3', tag: 'page' });
      await go('Conflicts');
      await see(/✗ Conflict/);
      await see(/came first with collide-page/);
      await see(
        /(had read host-3 at revision \d+, finds it changed at \d+|hears of it before its own commit is sent), comes second, and does not fit/,
      );
      await look('conflicts');
    });

    it('28 what namespaces may use, and do', async () => {
      const quota = { cpuMilli: 8_000, memoryMib: null, gpuMilli: null, allocations: 50 };
      await other().setQuota('default', quota);
      await go('Quotas');
      await page.getByRole('row', { name: /default .*\/8, .* left .*no limit/ }).waitFor();
      await look('quotas');
    });

    it('28 a host is drained: what would move is said first', async () => {
      const { allocations } = await home().status({ namespace: 'default', job: 'web' });
      const host = allocations[0]?.allocation.host ?? '';
      await go('Hosts');
      await page.getByRole('button', { name: `Drain ${host}` }).click();
      const dialog = page.getByRole('dialog');
      await dialog
        .getByRole('row', { name: /web\[\d\] is stopped, in its turn/ })
        .first()
        .waitFor();
      await look('drain');
      await dialog.getByLabel('Reason').fill('new disks');
      await dialog.getByRole('button', { name: 'Drain it' }).click();
      await page.getByRole('row', { name: new RegExp(`${host} ▲ draining`) }).waitFor();
      await look('hosts');
      await go('Events');
      await page.getByLabel(/^Filter/).fill(`host-draining ${host}`);
      await page.getByRole('row', { name: /new disks/ }).waitFor();
      await look('events');
    });

    /**
     * Kills the page's monitor, and whenever it is started again, before it serves: up at once, it would hardly be missed.
     * @returns ends that
     */
    function keepMonitorDown(): () => Promise<void> {
      const stat = readFileSync(`/proc/${String(pidIn(cell, 'monitor-1'))}/stat`, 'utf8');
      const parent = stat.split(') ')[1]?.split(' ')[1] ?? '';
      const killIfMonitor = (child: string): void => {
        const command = `/proc/${child}/cmdline`;
        const words = existsSync(command) ? readFileSync(command, 'utf8').split('\0') : [];
        if (words.includes('monitor-1')) process.kill(Number(child), 'SIGKILL');
      };
      let isOver = false;
      const killing = (async (): Promise<void> => {
        while (!isOver) {
          const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ');
          children.forEach(killIfMonitor);
          await setTimeout(LOOK_MS);
        }
      })();
      return async () => {
        isOver = true;
        await killing;
      };
    }

    it('28 its monitor is killed while it watches, with a terminal open: it says so, and both go on at the other one', async () => {
      await page.goto(`${page.url().split('#')[0] ?? ''}#/jobs/default/rolls`);
      await page
        .getByRole('button', { name: /^Open a terminal in/ })
        .first()
        .click();
      await page.getByRole('button', { name: 'Open the terminal' }).click();
      const rows = page.locator('.xterm-rows');
      await page
        .getByRole('region', { name: /^Terminal in/ })
        .getByText('● live')
        .waitFor();
      await page.keyboard.type('kept=before\n');
      const letUp = keepMonitorDown();
      await see(/does not answer\. This page goes on at/);
      await page.keyboard.type('echo "after, $kept."\n');
      await rows.getByText('after, before.').waitFor();
      await go('Jobs');
      await other().submit({ name: 'after', type: 'batch', command: ['true'] });
      await page.getByRole('link', { name: 'default/after' }).waitFor();
      await go('Events');
      await page.getByLabel(/^Filter/).fill('job-submitted after');
      await page
        .getByRole('row', { name: /default\/after/ })
        .first()
        .waitFor();
      await letUp();
      expect(complaints.filter((text) => !text.includes('connect-src'))).toEqual([]);
    });
  });

  it('28 of 10,000 hosts only those in sight are rows, and every one is found', async () => {
    const world = new MonitorWorld();
    const files = readPageFiles(builtFile('page'));
    const { address } = await world.monitor('m1', { page: files, server: fastifyServer({ log: silentLog }) });
    const ids = Array.from({ length: 10_000 }, (_, n) => `host-${String(n)}`);
    for (let first = 0; first < ids.length; first += 100)
      await world.write(
        ids.slice(first, first + 100).map((id, n) => {
          const record = { ...hostRecord(id, `http://${id}`), attributes: { rack: `r${String(n % 40)}` } };
          return { kind: 'put', key: world.keys.host(id), value: hostCodec.encode(record) };
        }),
      );
    try {
      await page.setViewportSize({ width: 1440, height: HEIGHT });
      await page.goto(`${address}/`);
      await see('Hosts by rack');
      await page.screenshot({ path: join(PICTURES, 'ten-thousand-hosts.png') });
      await go('Hosts');
      await see('10000 of 10000 hosts');
      const table = page.getByRole('table');
      expect(await table.getAttribute('aria-rowcount')).toBe('10001');
      expect(await page.locator('tbody tr').count()).toBeLessThan(60);
      await page.getByRole('region', { name: 'Hosts' }).focus();
      await page.keyboard.press('End');
      await page.locator('tr[aria-rowindex="10001"]').waitFor();
      expect(await page.locator('tbody tr').count()).toBeLessThan(60);
      // Nothing is left of the list and of where it stood: what is found then stands at its beginning.
      await page.getByLabel(/^Filter/).fill('host-none');
      await see('No host matches the filter.');
      await page.getByLabel(/^Filter/).fill('host-7777');
      await page.getByRole('rowheader', { name: 'host-7777' }).waitFor();
      expect(complaints.filter((text) => !text.includes('connect-src'))).toEqual([]);
    } finally {
      await page.goto('about:blank');
      await world.close();
    }
  });
});
