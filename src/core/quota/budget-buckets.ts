import { attributeOf, plainAttribute } from '../host/attributes.ts';
import type { Host } from '../host/host.ts';
import type { BudgetKind, BudgetPolicy, DomainRule } from './budgets.ts';
import { BUDGETS, cellRuleOf } from './budgets.ts';
import type { BucketRule } from './token-bucket.ts';

/** Hosts with one value of an attribute. Those that have none are one domain too: its value is empty. */
export interface Domain {
  /** Without a leading `host.` */
  readonly attribute: string;
  readonly value: string;
}

/** What holds tokens of one kind: for the whole cell, or for one failure domain. */
export interface BudgetBucket {
  /** As it is stored: `moves`, `moves/rack/r1`. */
  readonly name: string;
  readonly kind: BudgetKind;
  /** null: the whole cell */
  readonly domain: Domain | null;
}

/** So many tokens of it, at once. */
export interface BudgetAmount {
  readonly bucket: BudgetBucket;
  readonly tokens: number;
}

/**
 * The buckets of which each gives a token for what leaves the host.
 * @param host as constraints see it; undefined: it is not registered. Asked only where domains have buckets of their own
 * @returns none: nothing bounds it
 */
export function bucketsFor(
  policy: BudgetPolicy,
  kind: BudgetKind,
  host: () => Host | undefined,
): readonly BudgetBucket[] {
  const rule = policy[kind];
  if (rule === undefined) return NO_BUCKETS;
  const cell = cellRuleOf(rule) === null ? [] : [bucketOf(kind, null)];
  return rule.per === undefined ? cell : [...cell, bucketOf(kind, domainOf(rule.per, host()))];
}

const NO_BUCKETS: readonly BudgetBucket[] = Object.freeze([]);

function domainOf(rule: DomainRule, host: Host | undefined): Domain {
  const attribute = plainAttribute(rule.attribute);
  return { attribute, value: (host === undefined ? undefined : attributeOf(host, attribute)) ?? '' };
}

function bucketOf(kind: BudgetKind, domain: Domain | null): BudgetBucket {
  const name = domain === null ? kind : `${kind}/${domain.attribute}/${domain.value}`;
  return { name, kind, domain };
}

/** null: no budget has such a bucket. */
export function bucketNamed(name: string): BudgetBucket | null {
  const [first = '', attribute, ...rest] = name.split('/');
  const kind = BUDGETS.find((one) => one === first);
  if (kind === undefined || (attribute !== undefined && rest.length === 0)) return null;
  // Values may have slashes; names of attributes have none.
  return bucketOf(kind, attribute === undefined ? null : { attribute, value: rest.join('/') });
}

/** By which it is filled now; null: nothing is drawn of it any more. */
export function ruleOf(policy: BudgetPolicy, { kind, domain }: BudgetBucket): BucketRule | null {
  const rule = policy[kind];
  if (domain === null) return cellRuleOf(rule);
  return rule?.per !== undefined && plainAttribute(rule.per.attribute) === domain.attribute ? rule.per : null;
}

/** A token of each, for as many as leave their hosts. */
export function amountsOf(each: readonly (readonly BudgetBucket[])[]): readonly BudgetAmount[] {
  const amounts = new Map<string, BudgetAmount>();
  for (const bucket of each.flat())
    amounts.set(bucket.name, { bucket, tokens: (amounts.get(bucket.name)?.tokens ?? 0) + 1 });
  return [...amounts.values()];
}

/** `20 at once and 60 an hour` */
export function ruleText({ burst, perHour }: BucketRule): string {
  return `${String(burst)} at once and ${String(perHour)} an hour`;
}

/** `rack r1`, `host h1`, `hosts without rack` */
export function domainText({ attribute, value }: Domain): string {
  const name = attribute === 'id' ? 'host' : attribute;
  return value === '' ? `hosts without ${name}` : `${name} ${value}`;
}

/** Why something waits, for people. */
export function waitsText({ kind, domain }: BudgetBucket, rule: BucketRule): string {
  const whose =
    domain === null ? `the cell's budget of ${kind}` : `the budget of ${kind} of ${domainText(domain)}`;
  return `waits for ${whose}, ${ruleText(rule)}`;
}

/** Of which one part alone is of no use. */
export function tooManyText({ bucket: { kind, domain }, tokens }: BudgetAmount, rule: BucketRule): string {
  const [where, whose] = domain === null ? ['', "the cell's"] : [` of ${domainText(domain)}`, 'its'];
  return `needs ${String(tokens)} ${kind}${where} at once, more than ${whose} budget of ${ruleText(rule)}`;
}
