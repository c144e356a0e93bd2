import fc from 'fast-check';
import { expect, it } from 'vitest';
import { COMMAND_MARK, execLaunch } from '../../../../src/wire/host-files/exec-launch.ts';
import { someLaunch } from './launch-arbitraries.ts';

it('a command inside a task has its groups and limits, and not its deadline, terminal or kill', () => {
  fc.assert(
    fc.property(someLaunch, (some) => {
      const marks = { MOORAGE_STATE: 's1', MOORAGE_ATTEMPT: 'a.main.1' };
      const task = { ...some, env: { ...some.env, ...marks } };
      const order = { command: ['id'], env: { OWN: '1' }, cwd: '/tmp' };
      const inside = execLaunch(task, { pid: 7, start: 9 }, 'c1', order);
      const { rlimits, cgroupProcs, oomScoreAdj } = task;
      expect(inside).toMatchObject(
        JSON.parse(JSON.stringify({ rlimits, cgroupProcs, oomScoreAdj })) as object,
      );
      // What is inside a container is said apart: the order itself is one to its runtime.
      expect(inside.user).toEqual(task.inside?.user ?? task.user);
      expect(inside.deny).toEqual(task.inside?.deny ?? task.deny);
      expect(inside.env).toEqual({
        ...(task.inside?.env ?? task.env),
        ...{ OWN: '1', [COMMAND_MARK]: 's1/a.main.1/c1' },
      });
      expect(inside).toMatchObject({ outBase: 0, cwd: '/tmp', join: { pid: 7, start: 9 } });
      expect([
        inside.pty,
        inside.runMaxMs,
        inside.stopAfterDisconnectMs,
        inside.adopt,
        inside.inner,
        inside.inside,
        // It enters the view of its task, and makes none.
        inside.own,
        inside.apart,
        inside.show,
        inside.denyFd,
      ]).toEqual(Array(10).fill(undefined));
      expect(inside.kill).toEqual([{ kind: 'environ', mark: `${COMMAND_MARK}=s1/a.main.1/c1` }]);
    }),
  );
});
