import { describe, expect, it } from 'vitest';
import { Account } from '../../examples/mnist/account.ts';
import { deviceNamed, ones, type Tensor } from '../../src/index.ts';

const cpu = deviceNamed('cpu');

/** Takes steps that each make two tensors; `leaks` says after which of them one is left. */
function steps(account: Account, count: number, leaks: (step: number) => boolean): Tensor[] {
  const left: Tensor[] = [];
  for (let step = 1; step <= count; step++) {
    const [a, b] = account.measure(() => [ones([16]), ones([16])]);
    a!.dispose();
    if (leaks(step)) left.push(b!);
    else b!.dispose();
    account.endStep();
  }
  return left;
}

describe('account of a training', () => {
  it('is content with a first step that leaves something for all others', () => {
    const account = new Account(cpu, 3);
    const [left] = steps(account, 4, (step) => step === 1);
    expect(account.problems).toEqual([]);
    left!.dispose();
  });

  it('names a later step that leaves bytes, once', () => {
    const account = new Account(cpu, 3);
    const [left] = steps(account, 5, (step) => step === 3);
    const before = cpu.allocator.counter.allocated - 64;
    expect(account.problems).toEqual([
      `step 3 left ${before + 64} bytes allocated, the one before ${before}`,
    ]);
    left!.dispose();
  });

  it('records a step with its calls', () => {
    const account = new Account(cpu, 2);
    steps(account, 3, () => false);
    const { timeline, allocations, frees } = account.recorded;
    expect(timeline.points.map(({ change }) => change)).toEqual([64, 64]);
    expect([allocations, frees]).toEqual([2, 2]);
    expect(account.stepTime).toBeGreaterThan(0);
  });

  it('has no recorded step before the first one', () => {
    expect(() => new Account(cpu, 7).recorded).toThrow('before step 3');
  });
});
