import { beforeEach, describe, expect, it } from 'vitest';
import { attemptName } from '../../../../src/wire/shim-files.ts';
import { HandRun } from '../../../support/hand-run.ts';

const HOST = 'host-1';
const ID = '01hf7yatcp7cy2pbjkyemzncv7';
const quick = { liveness: null, least: {} };

let run: HandRun;

beforeEach(() => {
  run = new HandRun();
});

function wrote(offset: number, text: string, { number = 1, isKept = true } = {}): void {
  const attempt = attemptName(ID, 'main', number);
  run.history.host({ kind: 'wrote', host: HOST, attempt, offset, text, isKept });
}

function gaveUp(until: number): void {
  run.history.host({ kind: 'gave-up', host: HOST, attempt: attemptName(ID, 'main', 1), until });
}

function read(offset: number, text: string): void {
  run.history.output({ reader: 'client-1', allocation: ID, offset, text });
}

function isOver(): void {
  run.history.output({ reader: 'client-1', allocation: ID, isOver: true });
}

const found = (): readonly string[] =>
  run.check(quick).violations.flatMap(({ invariant, detail }) => (invariant === 'I28' ? [detail] : []));

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

  it('I28 bytes that nobody wrote there, or nobody wrote yet', () => {
    wrote(0, 'one\ntwo\n');
    read(0, 'one\ntWo\n');
    expect(found()).toEqual(['client-1 was told what nobody wrote at 0']);
    run = new HandRun();
    wrote(0, 'one\n');
    read(0, 'one\ntwo\n');
    wrote(4, 'two\n');
    expect(found()).toEqual(['client-1 was told what nobody wrote at 4']);
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
    run.history.host({ kind: 'power-off', host: HOST });
    isOver();
    expect(found()).toEqual([]);
    run = new HandRun();
    wrote(0, 'one\n');
    wrote(4, 'two\n', { number: 4 });
    read(4, 'two\n');
    expect(found()).toEqual([]);
  });
});
