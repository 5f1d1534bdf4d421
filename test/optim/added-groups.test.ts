import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  memory,
  ones,
  optim,
  randn,
  seed,
  type Tensor,
  toStatic,
} from '../../src/index.ts';

type Group = { params: Tensor[]; lr?: number };
type Make = (groups: Group[]) => optim.Optimizer;

const optimizers: Readonly<Record<string, Make>> = {
  SGD: (own) => new optim.SGD(own, { lr: 0.1, momentum: 0.9, dampening: 0.5 }),
  Adam: (own) => new optim.Adam(own, { lr: 0.1, amsgrad: true }),
  'Adam in 8 bits': (own) => new optim.Adam(own, { lr: 0.1, stateBits: 8 }),
  Adamax: (own) => new optim.Adamax(own, { lr: 0.1 }),
  NAdam: (own) => new optim.NAdam(own, { lr: 0.1 }),
  RAdam: (own) => new optim.RAdam(own, { lr: 0.1, betas: [0.8, 0.9] }),
  RMSprop: (own) => new optim.RMSprop(own, { centered: true, momentum: 0.9 }),
  Adagrad: (own) => new optim.Adagrad(own, { lrDecay: 0.1, initialAccumulatorValue: 0.1 }),
  Adadelta: (own) => new optim.Adadelta(own),
  Adafactor: (own) => new optim.Adafactor(own),
  Rprop: (own) => new optim.Rprop(own),
  ASGD: (own) => new optim.ASGD(own, { t0: 2 }),
};

const parameters = () => [randn([80, 80]).requiresGrad_(), randn([3]).requiresGrad_()] as const;

/** A few steps of the first parameter, then of both, whose group is added or was there all the time. */
function train(make: Make, isAdded: boolean, capture = false) {
  seed(6);
  const [first, second] = parameters();
  const later: Group = { params: [second], lr: 0.05 };
  const optimizer = make([{ params: [first] }, ...(isAdded ? [] : [later])]);
  const step = (used: readonly Tensor[]) => {
    for (const each of used) each.square().sum().backward();
    optimizer.step();
    optimizer.zeroGrad();
  };
  const called = capture ? toStatic(step) : step;
  for (let i = 0; i < 2; i++) called([first]);
  if (isAdded) optimizer.addParamGroup(later);
  for (let i = 0; i < 3; i++) called([first, second]);
  const { counts, state } = optimizer.stateDict();
  const values = (tensors: readonly Tensor[]) => tensors.map((x) => [...x.dataSync()]);
  return {
    parameters: values([first, second]),
    counts,
    state: Object.entries(state).map(([name, own]) => [name, values(own)]),
  };
}

describe('optim/addParamGroup', () => {
  it.each(Object.entries(optimizers))(
    '%s steps as if the group had waited for its gradients',
    (_, make) => {
      const waited = train(make, false);
      expect(waited.counts).toEqual([5, 3]);
      expect(train(make, true)).toEqual(waited);
      expect(train(make, true, true)).toEqual(waited);
    },
  );

  it('a schedule leaves groups alone that were added after it', () => {
    const [first, second] = parameters();
    const optimizer = new optim.SGD([first], { lr: 1 });
    const schedule = new optim.ExponentialLR(optimizer, 0.5);
    optimizer.addParamGroup({ params: [second], lr: 3 });
    schedule.step();
    expect(optimizer.groups.map(({ lr }) => lr)).toEqual([0.5, 3]);
  });

  it('refuses a parameter that has a group, options of other kinds, and rates out of range', () => {
    const [first, second] = parameters();
    const optimizer = new optim.SGD([first], { lr: 1 });
    expect(() => optimizer.addParamGroup({ params: [first] })).toThrow(ArgumentError);
    expect(() => optimizer.addParamGroup({ params: [second], lr: -1 })).toThrow(ArgumentError);
    expect(() => optimizer.addParamGroup({ params: [second], betas: [0, 1] } as never)).toThrow(
      ArgumentError,
    );
    expect(optimizer.parameters.length).toBe(1);
  });

  it('frees the state of added parameters with the rest', () => {
    const before = memory.stats('cpu').allocated;
    const own = [ones([3]).requiresGrad_(), ones([4]).requiresGrad_()];
    const optimizer = new optim.Adam([own[0]!]);
    optimizer.addParamGroup({ params: [own[1]!] });
    optimizer.dispose();
    for (const each of own) each.dispose();
    expect(memory.stats('cpu').allocated).toBe(before);
  });
});
