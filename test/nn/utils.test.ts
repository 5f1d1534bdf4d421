import { describe, expect, it } from 'vitest';
import {
  nn,
  randn,
  type StaticFunction,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';

const { padSequence, parametersToVector, vectorToParameters } = nn.utils;

describe('nn.utils', () => {
  it('pads sequences behind their ends', () => {
    const rows = [
      tensor([[1, 2]]),
      tensor([
        [3, 4],
        [5, 6],
      ]),
    ];
    expect(padSequence(rows, { batchFirst: true, paddingValue: -1 }).toArraySync()).toEqual([
      [
        [1, 2],
        [-1, -1],
      ],
      [
        [3, 4],
        [5, 6],
      ],
    ]);
    expect(padSequence(rows).shape).toEqual([2, 2, 2]);
    expect(padSequence([tensor([1]), tensor([2, 3, 4])]).toArraySync()).toEqual([
      [1, 2],
      [0, 3],
      [0, 4],
    ]);
    expect(() => padSequence([])).toThrow('padSequence: no sequences');
  });

  it('parameters go into a vector and back', () => {
    const [a, b] = [new nn.Linear(2, 3), new nn.Linear(2, 3)];
    const vector = parametersToVector(a.parameters());
    expect(vector.shape).toEqual([9]);
    vectorToParameters(vector, b.parameters());
    expect(b.weight.toArraySync()).toEqual(a.weight.toArraySync());
    expect(b.bias!.toArraySync()).toEqual(a.bias!.toArraySync());
    expect(b.weight).toMatchObject({ isLeaf: true, requiresGrad: true });
    vector.mul(vector.detach()).sum().backward();
    expect(a.weight.grad!.toArraySync()).toEqual(a.weight.toArraySync());
    expect(() => vectorToParameters(randn([8]), b.parameters())).toThrow(/\[9\], for 2 parameters/);
  });

  it('stay in the graph of a captured step', () => {
    const run = (capture: <F extends (...args: never[]) => unknown>(fn: F) => F) => {
      seed(3);
      const net = new nn.Linear(3, 2);
      const step = capture((rows: Tensor[]) => {
        const loss = net
          .forward(padSequence(rows, { batchFirst: true }))
          .pow(2)
          .mean();
        loss.backward();
        const weights = parametersToVector(net.parameters());
        vectorToParameters(weights.mul(0.9), net.parameters());
        net.zeroGrad();
        return loss;
      });
      const losses = [
        [2, 3],
        [1, 4],
        [2, 2],
      ].map((lengths) => step(lengths.map((length) => randn([length, 3]))).itemSync());
      return { values: [losses, net.weight.toArraySync()], step };
    };
    const captured = run(toStatic);
    expect(captured.values).toEqual(run((fn) => fn).values);
    const { stats } = captured.step as unknown as StaticFunction<() => void>;
    expect(stats()).toMatchObject({ breaks: [], fallbacks: [] });
  });
});
