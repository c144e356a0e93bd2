import type { Suspect, SuspectKind } from './suspects.ts';
import { kindOf } from './suspects.ts';
import type { TrialKind, Unit } from './units.ts';
import { exactTest } from './exact-test.ts';

/** What the cell has in all: the more there is, the more of it fails by chance alone. */
export interface Census {
  /** How many suspects of the kind there are, at least 1. */
  count(kind: SuspectKind): number;
  /** Was it changed shortly before: submitted, started anew, seen for the first time? */
  isRecent(suspect: Suspect, beforeMs: number): boolean;
}

/** Who is at fault, with what speaks for and against it. */
export interface Finding {
  readonly suspect: Suspect;
  /** Natural logarithm of the odds that it is at fault to that it is not. */
  readonly logOdds: number;
  /** Units of it that are bad, and well. */
  readonly bad: readonly Unit[];
  readonly well: number;
  /** Units that should be as bad, were it not at fault: of a revision its neighbours, else its revisions elsewhere. */
  readonly control: { readonly bad: number; readonly well: number };
  /** Others that explain the same as well. Of another kind: nothing is decided. */
  readonly rivals: readonly Suspect[];
  readonly isDecided: boolean;
}

/** How often something fails by itself, at least. */
const BACKGROUND_MIN = 0.02;
const BACKGROUND_MAX = 0.9;
/** As if so many more had been seen that are well. */
const BACKGROUND_PRIOR = 50;
/** How often something fails whose suspect is at fault. */
const FAULTY_RATES = [0.9, 0.5] as const;
/** How many members of a group fail that is at fault: a kernel may show it on some of its hosts only. */
const MEMBER_RATES = [0.9, 0.5, 0.2] as const;
/** How many suspects of the kind are at fault in a cell at any time. */
const EXPECTED: Readonly<Record<SuspectKind, number>> = {
  ...{ revision: 0.1, host: 0.1, domain: 0.02, artifact: 0.02, registry: 0.02 },
};
/** How much likelier what was changed shortly before is at fault. */
const RECENT_FACTOR = 10;
/** So much likelier than not: a hundred to one. */
const DECIDED = Math.log(100);
/** An explanation by one is preferred to one by several, and to a rival, when it is twenty times as likely. */
const MARGIN = Math.log(20);
const ROUNDS_MAX = 16;
const BAD_HOSTS_MIN = 3;
const BAD_JOBS_MIN = 3;
/** Well elsewhere: fewer compare with nothing. */
const CONTROL_MIN = 2;
/** More likely than this it is chance that it is bad more often than its control. */
const CHANCE_MAX = 0.02;
/** The same of a group, for all groups of its kind at once. */
const GROUP_CHANCE_MAX = 0.02;
/** What cannot be fetched is seldom the fault of who fetches it. */
const FETCH_CHANCE_MAX = 0.001;
/** A rival explains nearly all of it. */
const RIVAL_SHARE = 0.8;

/**
 * Who is at fault for what is bad. Each suspect has a prior, which is shared out among all of its kind (Bonferroni's correction in
 * its Bayesian form: Westfall, Johnson and Utts, Biometrika 84, 1997); the odds are the likelihood ratio of its units being bad at a
 * faulty rate to being bad as often as all the others are. As that ratio is a test martingale, odds of 100 are reached by chance
 * with probability 1/100 at most, however often one looks (Ville's inequality). A group of hosts (a rack, a kernel) or of revisions (an artifact) must
 * explain more than its members one by one. The best suspect takes its units with it, and the rest is judged again: the greedy
 * cover of Kompella and others, "IP fault localization via risk modeling" (NSDI 2005). Each must also be bad more often than what is like it but for
 * the suspect, by Fisher's exact test.
 *
 * @param kind of the trials: what a suspect is compared with depends on it
 */
export function attribute(units: readonly Unit[], census: Census, kind: TrialKind): readonly Finding[] {
  const findings: Finding[] = [];
  let open = units;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const sums = new Sums(open, census, kind);
    const best = sums.best();
    if (best === null) break;
    findings.push(best);
    open = open.filter(({ suspects }) => !suspects.includes(best.suspect));
  }
  return findings;
}

interface Tally {
  readonly suspect: Suspect;
  readonly bad: Unit[];
  readonly well: Unit[];
}

interface Candidate extends Tally {
  readonly score: number;
}

function isRival(best: Candidate, other: Candidate): boolean {
  if (other === best || other.score < best.score - MARGIN) return false;
  const theirs = new Set(other.bad);
  const shared = best.bad.filter((unit) => theirs.has(unit)).length;
  return shared >= RIVAL_SHARE * best.bad.length;
}

/** What is bad and well of each suspect of which anything is bad. */
class Sums {
  readonly #census: Census;
  readonly #kind: TrialKind;
  readonly #units: readonly Unit[];
  readonly #tallies = new Map<Suspect, Tally>();
  readonly #bad: number;

  constructor(units: readonly Unit[], census: Census, kind: TrialKind) {
    this.#units = units;
    this.#census = census;
    this.#kind = kind;
    const bad = units.filter(({ isBad }) => isBad);
    this.#bad = bad.length;
    for (const unit of bad)
      for (const suspect of unit.suspects)
        if (!this.#tallies.has(suspect)) this.#tallies.set(suspect, { suspect, bad: [], well: [] });
    for (const unit of units)
      for (const suspect of unit.suspects) {
        const tally = this.#tallies.get(suspect);
        if (tally !== undefined) (unit.isBad ? tally.bad : tally.well).push(unit);
      }
  }

  /** The likeliest of those for which enough speaks; null: nobody. */
  best(): Finding | null {
    const candidates = this.#candidates();
    for (const best of candidates) {
      const finding = this.#qualified(best);
      if (finding === null) continue;
      const rivals = candidates.filter((other) => isRival(best, other) && this.#qualified(other) !== null);
      const isDecided = rivals.every(({ suspect }) => kindOf(suspect) === kindOf(best.suspect));
      return { ...finding, rivals: rivals.map(({ suspect }) => suspect), isDecided };
    }
    return null;
  }

  /** Those that are likelier at fault than not, the likeliest first. */
  #candidates(): readonly Candidate[] {
    const scored: Candidate[] = [];
    for (const tally of this.#tallies.values()) {
      const score = isGroup(tally.suspect) ? this.#groupScore(tally) : this.#score(tally);
      if (score >= DECIDED) scored.push({ ...tally, score });
    }
    return scored.sort((a, b) => b.score - a.score || (a.suspect < b.suspect ? -1 : 1));
  }

  /** @returns null: too little speaks for it, or there is nothing to compare with */
  #qualified({ suspect, score, bad, well }: Candidate): Omit<Finding, 'rivals' | 'isDecided'> | null {
    const hosts = new Set(bad.map(({ host }) => host)).size;
    const jobs = new Set(bad.map(({ job }) => job)).size;
    const isMost = bad.length >= well.length;
    const control = this.#control(suspect, bad);
    const isUnlike = this.#isUnlike({ suspect, bad, well }, control);
    const isSo = ((): boolean => {
      switch (kindOf(suspect)) {
        case 'revision':
          return hosts >= BAD_HOSTS_MIN && isMost;
        case 'host':
          return jobs >= BAD_JOBS_MIN && isMost;
        case 'domain':
          return hosts >= BAD_HOSTS_MIN && jobs >= 2;
        case 'artifact':
        case 'registry':
          return jobs >= BAD_JOBS_MIN && hosts >= 2;
      }
    })();
    return isSo && isUnlike ? { suspect, logOdds: score, bad, well: well.length, control } : null;
  }

  /** Units that are like those of the suspect but for the suspect. */
  #control(suspect: Suspect, bad: readonly Unit[]): Finding['control'] {
    const key = this.#likeness(suspect);
    const compared = new Set(bad.map(key));
    const found = { bad: 0, well: 0 };
    const sinceMs = bad.reduce((first, unit) => Math.min(first, unit.firstFailedAtMs), Infinity);
    for (const unit of this.#units) {
      // What was well before says nothing of what began to fail then.
      if (!unit.isBad && unit.lastWellAtMs < sinceMs) continue;
      if (!compared.has(key(unit)) || unit.suspects.includes(suspect)) continue;
      if (unit.isBad) found.bad += 1;
      else found.well += 1;
    }
    return found;
  }

  #likeness(suspect: Suspect): (unit: Unit) => string {
    switch (kindOf(suspect)) {
      case 'host':
        // A refusal is the host's own word: work that was asked for nowhere else is compared with all other work.
        return this.#kind === 'start' ? () => '' : ({ revision }) => revision;
      case 'domain':
        return ({ revision }) => revision;
      case 'revision':
        // When nothing can be fetched from where it comes from, it is not its fault.
        return this.#kind === 'fetch' ? registryOf : ({ host }) => host;
      case 'artifact':
      case 'registry':
        return this.#kind === 'fetch' ? () => '' : ({ host }) => host;
    }
  }

  /** Is it bad so much more often than its control that it is no chance? */
  #isUnlike({ suspect, bad, well }: Tally, control: Finding['control']): boolean {
    if (control.well < CONTROL_MIN) return false;
    const kind = kindOf(suspect);
    if (kind !== 'domain') {
      const chance = exactTest(bad.length, well.length, control.bad, control.well);
      return isGroup(suspect)
        ? chance * this.#census.count(kind) <= GROUP_CHANCE_MAX
        : chance <= (this.#kind === 'fetch' ? FETCH_CHANCE_MAX : CHANCE_MAX);
    }
    // Work on one host shares its fate: hosts are compared, and for all domains at once.
    const inside = hostsOf([...bad, ...well]);
    const outside = hostsOf(this.#units.filter(({ suspects }) => !suspects.includes(suspect)));
    const chance = exactTest(inside.bad, inside.well, outside.bad, outside.well);
    return chance * this.#census.count(kind) <= GROUP_CHANCE_MAX;
  }

  #score(tally: Tally): number {
    return this.#gain(tally, this.#background(tally)) + this.#logPrior(tally);
  }

  /** A group is at fault when more of its members are bad than by themselves. */
  #groupScore(tally: Tally): number {
    const background = this.#background(tally);
    const members = new Map<string, Tally>();
    const memberKind = kindOf(tally.suspect) === 'domain' ? 'host' : 'revision';
    for (const unit of [...tally.bad, ...tally.well]) {
      const name = memberKind === 'host' ? unit.host : unit.revision;
      let member = members.get(name);
      if (member === undefined)
        members.set(name, (member = { suspect: `${memberKind}/${name}`, bad: [], well: [] }));
      (unit.isBad ? member.bad : member.well).push(unit);
    }
    const gains = [...members.values()].map((member) => ({
      gain: this.#gain(member, background),
      alone: this.#logPrior(member),
    }));
    const grouped = Math.max(...MEMBER_RATES.map((rate) => sum(gains, ({ gain }) => mixed(gain, rate))));
    const apart = sum(gains, ({ gain, alone }) => Math.max(0, gain + alone));
    const score = grouped - Math.log(MEMBER_RATES.length) + this.#logPrior(tally);
    return score - apart >= MARGIN ? score : 0;
  }

  /** Log of the likelihood ratio: bad at a faulty rate, to bad at the background's. */
  #gain({ bad, well }: Tally, background: number): number {
    const gains = FAULTY_RATES.map(
      (rate) =>
        bad.length * Math.log(rate / background) + well.length * Math.log((1 - rate) / (1 - background)),
    );
    return Math.max(...gains) - Math.log(FAULTY_RATES.length);
  }

  /** How often all the others are bad. */
  #background({ bad, well }: Tally): number {
    const rest = this.#units.length - bad.length - well.length;
    const rate = (this.#bad - bad.length + BACKGROUND_MIN * BACKGROUND_PRIOR) / (rest + BACKGROUND_PRIOR);
    return Math.min(BACKGROUND_MAX, Math.max(BACKGROUND_MIN, rate));
  }

  #logPrior({ suspect, bad }: Tally): number {
    const kind = kindOf(suspect);
    const prior = Math.min(0.1, EXPECTED[kind] / this.#census.count(kind));
    const firstMs = Math.min(...bad.map(({ firstFailedAtMs }) => firstFailedAtMs));
    const isRecent = bad.length > 0 && this.#census.isRecent(suspect, firstMs);
    return Math.log(Math.min(0.5, isRecent ? prior * RECENT_FACTOR : prior));
  }
}

/** How many hosts are bad: at least half of what is on them is. */
function hostsOf(units: readonly Unit[]): Finding['control'] {
  const balance = new Map<string, number>();
  for (const { host, isBad } of units) balance.set(host, (balance.get(host) ?? 0) + (isBad ? 1 : -1));
  const bad = [...balance.values()].filter((more) => more >= 0).length;
  return { bad, well: balance.size - bad };
}

function registryOf({ suspects, host }: Unit): string {
  return suspects.find((suspect) => kindOf(suspect) === 'registry') ?? host;
}

function isGroup(suspect: Suspect): boolean {
  const kind = kindOf(suspect);
  return kind !== 'revision' && kind !== 'host';
}

/** A member of a group at fault is bad at the rate, and else as all others are. */
function mixed(gain: number, rate: number): number {
  // log(rate * e^gain + 1 - rate), without an overflow
  return gain > 0
    ? gain + Math.log(rate + (1 - rate) * Math.exp(-gain))
    : Math.log(rate * Math.exp(gain) + 1 - rate);
}

function sum<T>(items: readonly T[], amount: (item: T) => number): number {
  return items.reduce((total, item) => total + amount(item), 0);
}
