import { editDistance } from '../../wire/values/suggest.ts';
import type { FailPoints, Failure } from './faults.ts';
import { failPoints, isFailPoint } from './names.ts';

/** One order: what happens at the `nth` time that a point is reached. */
export interface FailOrder {
  readonly name: string;
  /** From 1. */
  readonly nth: number;
  readonly action: FailAction;
}

export type FailAction =
  | { readonly kind: 'kill' }
  | { readonly kind: 'throw' }
  | { readonly kind: 'stall'; readonly seconds: number };

/** An order that cannot be followed; the message says what to write instead. */
export class FailOrderError extends Error {
  override readonly name = 'FailOrderError';
}

const STALL_SECONDS = 5;
/** A longer one is a hang: kill it instead. */
const STALL_SECONDS_MAX = 3_600;
/** More at once are a mistake. */
const ORDERS_MAX = 1_000;
const NEAREST_MAX = 3;

/**
 * `name:nth:kill|throw|stall`, several with commas between them; `stall=2` for two seconds instead of five.
 * @throws FailOrderError
 */
export function readFailOrders(text: string): readonly FailOrder[] {
  const orders = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(readOrder);
  if (orders.length > ORDERS_MAX) throw new FailOrderError(`more than ${String(ORDERS_MAX)} fail-points`);
  return orders;
}

function readOrder(text: string): FailOrder {
  const parts = /^(.+):([1-9]\d{0,8}):(kill|throw|stall)(?:=(\d+(?:\.\d+)?))?$/.exec(text);
  const [, name = '', nth, kind, seconds] = parts ?? [];
  if (parts === null || (seconds !== undefined && kind !== 'stall'))
    throw new FailOrderError(
      `"${text}" is no order: write NAME:NTH:kill, NAME:NTH:throw or NAME:NTH:stall=SECONDS`,
    );
  if (!isFailPoint(name))
    throw new FailOrderError(
      `there is no fail-point "${name}"; the nearest are ${nearestTo(name).join(', ')}`,
    );
  const isLong = Number(seconds) > STALL_SECONDS_MAX;
  if (isLong) throw new FailOrderError(`"${text}": stall for at most ${String(STALL_SECONDS_MAX)} seconds`);
  return { name, nth: Number(nth), action: actionOf(kind, seconds) };
}

function actionOf(kind: string | undefined, seconds: string | undefined): FailAction {
  if (kind === 'stall') return { kind, seconds: seconds === undefined ? STALL_SECONDS : Number(seconds) };
  return { kind: kind === 'kill' ? 'kill' : 'throw' };
}

function nearestTo(name: string): readonly string[] {
  const bound = name.length + 40;
  return failPoints()
    .map((point) => ({ point, distance: editDistance(name, point, bound) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, NEAREST_MAX)
    .map(({ point }) => point);
}

/** What following an order needs of the process: to die, and to wait. */
export interface FailWorld {
  /** As `readFailOrders` takes them; undefined or empty: none. */
  readonly orders: string | undefined;
  /** Called when a point is reached for the first time; null: not needed. */
  readonly seen: ((name: string) => void) | null;
  /** Do points count already? Once true, not asked again. */
  counts(): boolean;
  /** Does not return, or returns what never ends. */
  kill(): Promise<void>;
  sleep(ms: number): Promise<void>;
  /** An order is about to be followed. @returns false when it was, in an earlier life of this role */
  fires(order: FailOrder): boolean;
}

/** @returns null without orders and without `seen`: then no port is wrapped. @throws FailOrderError */
export function failPointsOf(world: FailWorld): FailPoints | null {
  const orders = readFailOrders(world.orders ?? '');
  return orders.length === 0 && world.seen === null ? null : new OrderedFailures(orders, world);
}

class OrderedFailures implements FailPoints {
  readonly #world: FailWorld;
  readonly #orders: readonly FailOrder[];
  readonly #reached = new Map<string, number>();
  #counts = false;

  constructor(orders: readonly FailOrder[], world: FailWorld) {
    this.#orders = orders;
    this.#world = world;
  }

  reach(name: string): Failure | null {
    if (!this.#counts && !(this.#counts = this.#world.counts())) return null;
    const times = (this.#reached.get(name) ?? 0) + 1;
    this.#reached.set(name, times);
    if (times === 1) this.#world.seen?.(name);
    const order = this.#orders.find((one) => one.name === name && one.nth === times);
    if (order === undefined || !this.#world.fires(order)) return null;
    if (order.action.kind === 'throw') return { kind: 'throw' };
    if (order.action.kind === 'kill') return { kind: 'wait', until: this.#world.kill() };
    return { kind: 'wait', until: this.#world.sleep(order.action.seconds * 1000) };
  }
}
