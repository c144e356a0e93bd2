import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { allocatable } from '../../src/core/host/host.ts';
import type { HostStatus } from '../../src/wire/api/monitor-api.ts';
import { cores, plural, size } from '../../src/wire/values/words.ts';
import { share } from '../figures/figures.ts';
import type { Grid, Square } from '../figures/host-grid.ts';
import { domainsOf, gridOf, groupsOf, squareAt, troubleOf } from '../figures/host-grid.ts';
import { hashOf } from '../figures/route.ts';

/** Each host is a square that fills from below as its CPU is asked for; crossed out when it takes no work. */
export function HostMap(props: { readonly hosts: readonly HostStatus[] }): JSX.Element {
  const { hosts } = props;
  const domains = useMemo(() => domainsOf(hosts), [hosts]);
  const [chosen, setChosen] = useState<string | null>(null);
  const by = chosen ?? domains[0] ?? null;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [pointed, setPointed] = useState<Square | null>(null);
  const groups = useMemo(() => groupsOf(hosts, by), [hosts, by]);
  const grid = useMemo(() => gridOf(groups, Math.max(1, width)), [groups, width]);
  useEffect(() => {
    const at = box.current;
    if (at === null) return;
    const watch = new ResizeObserver(() => setWidth(at.clientWidth));
    watch.observe(at);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const paint = (): void => {
      if (canvas.current !== null && width > 0) draw(canvas.current, grid, width);
    };
    paint();
    // A picture keeps the colours in which it was drawn.
    const darkness = matchMedia('(prefers-color-scheme: dark)');
    darkness.addEventListener('change', paint);
    return () => darkness.removeEventListener('change', paint);
  }, [grid, width]);
  const idle = hosts.filter((status) => troubleOf(status) !== null).length;
  return (
    <section aria-labelledby="map-title">
      <h2 id="map-title">Hosts by {by ?? 'cell'}</h2>
      {domains.length < 2 ? null : (
        <label class="inline">
          Group by
          <select value={by ?? ''} onChange={(event) => setChosen(event.currentTarget.value)}>
            {domains.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <div class="map" ref={box}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${plural(hosts.length, 'host')} in ${plural(groups.length, 'group')}, ${String(idle)} of them take no work; the view Hosts lists them`}
          onPointerMove={(event) => setPointed(squareAt(grid, event.offsetX, event.offsetY))}
          onPointerLeave={() => setPointed(null)}
          onClick={(event) => {
            const square = squareAt(grid, event.offsetX, event.offsetY);
            if (square !== null) location.hash = hashOf('hosts', [], { filter: square.status.host.id });
          }}
        />
      </div>
      <p class="hint">
        {pointed === null
          ? 'A square fills as CPU is asked for; a crossed one takes no work.'
          : told(pointed.status)}
      </p>
    </section>
  );
}

function told(status: HostStatus): string {
  const { host, used, allocations } = status;
  const all = allocatable(host);
  const trouble = troubleOf(status);
  const parts = [
    host.id,
    ...(trouble === null ? [] : [trouble]),
    `${cores(used.cpuMilli)} of ${cores(all.cpuMilli)} cpu`,
    `${size(used.memoryMib)} of ${size(all.memoryMib)}`,
    plural(allocations, 'allocation'),
  ];
  return parts.join(' · ');
}

function draw(canvas: HTMLCanvasElement, grid: Grid, width: number): void {
  const ratio = devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(grid.height * ratio);
  canvas.style.height = `${String(grid.height)}px`;
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const [text, empty, used, bad] = [colour('--text'), colour('--empty'), colour('--used'), colour('--bad')];
  context.clearRect(0, 0, width, grid.height);
  context.font = `14px ${style.fontFamily}`;
  context.textBaseline = 'top';
  context.fillStyle = text;
  for (const line of grid.lines) context.fillText(line.text, 0, line.y + 4, width);
  const { side } = grid;
  context.strokeStyle = bad;
  for (const { x, y, status } of grid.squares) {
    const full = side * share(status.used.cpuMilli, allocatable(status.host).cpuMilli);
    context.fillStyle = empty;
    context.fillRect(x, y, side, side);
    context.fillStyle = used;
    context.fillRect(x, y + side - full, side, full);
    if (troubleOf(status) === null) continue;
    context.lineWidth = Math.max(1, side / 10);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + side, y + side);
    context.moveTo(x + side, y);
    context.lineTo(x, y + side);
    context.stroke();
  }
}
