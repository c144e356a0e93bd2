import { beforeEach, describe, expect, it } from 'vitest';
import { allRead } from '../../../../../sim/checkers/answers/unread-outputs.ts';
import { attemptName } from '../../../../../src/wire/host-files/attempt-files.ts';
import type { RunSetting } from '../../../../../sim/checkers/checkers.ts';
import { HandRun } from '../../../../support/hand-run.ts';

const HOST = 'host-1';
const ID = '01hf7yatcp7cy2pbjkyemzncv7';
const quick = { liveness: null, least: {} };

/** Faults are over, and so much time goes by. */
function quietFor(ms: number): void {
  run.history.phase('quiet');
  run.nowMs += ms;
  run.history.phase('end');
}

let setting: Partial<RunSetting> = quick;

let run: HandRun;

beforeEach(() => {
  run = new HandRun();
  setting = quick;
});

function wrote(offset: number, text: string, { number = 1, isKept = true } = {}): void {
  const attempt = attemptName(ID, 'main', number);
  run.history.add('hosts', { kind: 'wrote', host: HOST, attempt, offset, text, isKept });
}

function gaveUp(until: number): void {
  run.history.add('hosts', { kind: 'gave-up', host: HOST, attempt: attemptName(ID, 'main', 1), until });
}

function read(offset: number, text: string): void {
  run.history.add('outputs', { reader: 'client-1', allocation: ID, offset, text });
}

function isOver(): void {
  run.history.add('outputs', { reader: 'client-1', allocation: ID, isOver: true });
}

function refused(code: string): void {
  run.history.add('outputs', { reader: 'client-1', allocation: ID, refused: code });
}

function remove(): void {
  const boot = 'boot-1';
  const head = { host: HOST, boot, incarnation: 1, hostNowMs: run.nowMs };
  const answer = run.history.ordered({ ...head, kind: 'remove', id: ID, commandId: 'c1' });
  answer({ status: 204, code: null, report: null });
}

const found = (): readonly string[] =>
  run.check(setting).violations.flatMap(({ invariant, detail }) => (invariant === 'I28' ? [detail] : []));

describe('I28 what a task wrote, and what a client read of it', () => {
  it('I28 is content with each byte once, however it is cut', () => {
    wrote(0, 'one\ntwo\n');
    read(0, 'on');
    wrote(8, 'three\n');
    read(2, 'e\ntwo\nthr');
    read(11, 'ee\n');
    isOver();
    expect(found()).toEqual([]);
  });

  it('I28 bytes that come again', () => {
    wrote(0, 'one\ntwo\n');
    read(0, 'one\n');
    read(2, 'e\ntwo\n');
    expect(found()).toEqual(['client-1 was told what lies at 2 again']);
  });

  it('I28 bytes that were not written there, or not yet', () => {
    wrote(0, 'one\ntwo\n');
    read(0, 'one\ntWo\n');
    expect(found()).toEqual(['client-1 was told bytes that were not written, at 0']);
    run = new HandRun();
    wrote(0, 'one\n');
    read(0, 'one\ntwo\n');
    wrote(4, 'two\n');
    expect(found()).toEqual(['client-1 was told bytes that were not written, at 4']);
  });

  it('I28 a gap is only where bytes are gone: given up, or not taken by the disk', () => {
    wrote(0, 'one\n');
    wrote(4, 'two\n', { isKept: false });
    wrote(8, 'three\n');
    read(8, 'three\n');
    expect(found()).toEqual(['client-1 was not told what lies at 0, which was there']);
    run = new HandRun();
    wrote(0, 'one\n');
    wrote(4, 'two\n', { isKept: false });
    wrote(8, 'three\n');
    gaveUp(8);
    read(8, 'three\n');
    isOver();
    expect(found()).toEqual([]);
  });

  it('I28 the word that this is all comes before the last byte', () => {
    wrote(0, 'one\n');
    wrote(4, 'two\n');
    read(0, 'one\n');
    isOver();
    expect(found()).toEqual(['client-1 was not told what lies at 4, which was there']);
  });

  it('I28 what a full disk did not take reads as zeros, what power took is gone, and so are old attempts', () => {
    wrote(0, 'one\n', { isKept: false });
    read(0, '\0\0\0\0');
    wrote(4, 'two\n');
    run.history.add('hosts', { kind: 'power-off', host: HOST });
    isOver();
    expect(found()).toEqual([]);
    run = new HandRun();
    wrote(0, 'one\n');
    wrote(4, 'two\n', { number: 4 });
    read(4, 'two\n');
    expect(found()).toEqual([]);
  });
});

describe('I28 what a client never came to read', () => {
  const ALIVE = { least: {} };

  beforeEach(() => {
    setting = ALIVE;
    run.history.add('outputs', { reader: 'client-1', allocation: ID, asks: true });
    wrote(0, 'one\n');
  });

  it('I28 refused again and again in a long quiet time, though it is there', () => {
    refused('host-unreachable');
    refused('no-such-allocation');
    quietFor(30_000);
    expect(found()).toEqual(['client-1 has not come to read what lies at 0, refused 2 times']);
    expect(run.check(ALIVE).result).toBe('violated');
  });

  it('I28 the rest, after a part of it', () => {
    wrote(4, 'two\n');
    read(0, 'one\n');
    quietFor(30_000);
    expect(found()).toEqual(['client-1 has not come to read what lies at 4, refused 0 times']);
  });

  it('I28 is content where all is read, what is left is forgotten, or there was no time', () => {
    read(0, 'one\n');
    quietFor(30_000);
    expect(found()).toEqual([]);
    for (const quietMs of [10_000, 30_000]) {
      run = new HandRun();
      run.history.add('outputs', { reader: 'client-1', allocation: ID, asks: true });
      wrote(0, 'one\n');
      if (quietMs === 30_000) remove();
      quietFor(quietMs);
      expect(found()).toEqual([]);
    }
  });

  it('I28 does not ask for output on a host without a session, nor for what was written just now', () => {
    run = new HandRun(['host-2']);
    run.history.add('outputs', { reader: 'client-1', allocation: ID, asks: true });
    wrote(0, 'one\n');
    quietFor(30_000);
    expect(found()).toEqual([]);
    run = new HandRun();
    run.history.add('outputs', { reader: 'client-1', allocation: ID, asks: true });
    run.history.phase('quiet');
    run.nowMs += 25_000;
    wrote(0, 'one\n');
    run.nowMs += 5_000;
    run.history.phase('end');
    expect(found()).toEqual([]);
  });

  it('I28 output that is reported as gone is gone', () => {
    refused('log-gone');
    expect(found()).toEqual(['client-1 was told that its output is gone, and it was there']);
    run = new HandRun();
    wrote(0, 'one\n');
    remove();
    refused('log-gone');
    quietFor(30_000);
    expect(found()).toEqual([]);
  });

  it('I28 a run does not end while a reader has something to read', () => {
    const isRead = (): boolean => allRead(run.history, { seq: Infinity, atMs: run.nowMs });
    run.nowMs += 1_000;
    expect(isRead()).toBe(true);
    run.nowMs += 5_000;
    expect(isRead()).toBe(false);
    read(0, 'one\n');
    expect(isRead()).toBe(true);
  });
});

describe('a run in which no output was read to its end', () => {
  const least = { outputs: 1 };

  it('has tested too little', () => {
    wrote(0, 'one\n');
    read(0, 'one\n');
    refused('no-such-allocation');
    expect(run.check({ liveness: null, least })).toMatchObject({
      result: 'too-little',
      tooLittle: ['outputs: 0 of at least 1'],
    });
  });

  it('nor does one count that wrote nothing', () => {
    isOver();
    expect(run.check({ liveness: null, least }).result).toBe('too-little');
  });

  it('holds otherwise', () => {
    wrote(0, 'one\n');
    read(0, 'one\n');
    isOver();
    expect(run.check({ liveness: null, least }).result).toBe('holds');
  });
});
