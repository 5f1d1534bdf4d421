import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nn, randn, seed, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { allocated } from '../../ops/eager.ts';

const { packedSequence, packPaddedSequence, packSequence, padPackedSequence } = nn.utils;
const { unpackSequence, unpadSequence } = nn.utils;

interface Recorded {
  readonly values: readonly number[];
  readonly shape: readonly number[];
}

type Name =
  | 'x'
  | 'hidden'
  | 'cell'
  | 'w'
  | 'packed'
  | 'padded'
  | 'data'
  | 'lastHidden'
  | 'lastCell';

/** A bidirectional LSTM with projections, as PyTorch ran it on packed sequences in float64. */
const recorded: Readonly<Record<Name, Recorded>> & {
  readonly weights: Readonly<Record<string, Recorded>>;
  readonly grads: Readonly<Record<string, Recorded>>;
  readonly lengths: readonly number[];
  readonly batchSizes: readonly number[];
  readonly sortedIndices: readonly number[];
  readonly unsortedIndices: readonly number[];
} = JSON.parse(readFileSync(new URL('../data/packed-lstm.json', import.meta.url), 'utf8'));

const made = ({ values, shape }: Recorded): Tensor =>
  tensor([...values], { shape: [...shape], dtype: 'float64' });

function expectLike(found: Tensor, { values, shape }: Recorded): void {
  expect(found.shape).toEqual(shape);
  [...found.dataSync()].forEach((value, i) => {
    expect(value).toBeCloseTo(values[i]!, 7);
  });
}

describe('packed sequences', () => {
  it('give a recurrent module what they give in PyTorch, with gradients', () => {
    const before = allocated();
    tidy(() => {
      using lstm = new nn.LSTM(2, 3, { bidirectional: true, projSize: 2 }).to('float64');
      lstm.loadStateDict(
        Object.fromEntries(
          Object.entries(recorded.weights).map(([name, own]) => [name, made(own)]),
        ),
      );
      const leaf = (own: Recorded) => made(own).requiresGrad_();
      const [x, hidden, cell] = [leaf(recorded.x), leaf(recorded.hidden), leaf(recorded.cell)];
      const packed = packPaddedSequence(x, recorded.lengths, { enforceSorted: false });
      expectLike(packed.data, recorded.packed);
      const { batchSizes, sortedIndices, unsortedIndices } = recorded;
      expect(packed).toMatchObject({ batchSizes, sortedIndices, unsortedIndices });
      const [outputs, [lastHidden, lastCell]] = lstm.forwardPacked(packed, [hidden, cell]);
      expectLike(outputs.data, recorded.data);
      expectLike(lastHidden, recorded.lastHidden);
      expectLike(lastCell, recorded.lastCell);
      const options = { batchFirst: true, paddingValue: -1, totalLength: 5 };
      const [padded, lengths] = padPackedSequence(outputs, options);
      expectLike(padded, recorded.padded);
      expect(lengths.tolist()).toEqual(recorded.lengths);
      outputs.data
        .mul(made(recorded.w))
        .sum()
        .add(lastHidden.square().sum())
        .add(lastCell.sum())
        .backward();
      const { weightIh } = lstm.cells[1]!;
      const found = { x, hidden, cell, weightIhL0Reverse: weightIh };
      for (const [name, own] of Object.entries(found)) expectLike(own.grad!, recorded.grads[name]!);
    });
    expect(allocated()).toBe(before);
  });

  it.each(['RNN', 'GRU', 'LSTM'] as const)('%s runs each sequence as if it were alone', (name) => {
    tidy(() => {
      seed(4);
      using layer = new nn[name](3, 4, { numLayers: 2, bidirectional: true });
      const sequences = [2, 4, 1, 4].map((length) => randn([length, 3]));
      const packed = packSequence(sequences, { enforceSorted: false });
      const [outputs, states] = layer.forwardPacked(packed as never) as [
        nn.utils.PackedSequence,
        Tensor | Tensor[],
      ];
      const found = unpackSequence(outputs);
      sequences.forEach((sequence, i) => {
        const [alone, last] = layer.forward(sequence);
        expect(found[i]!.allclose(alone, { atol: 1e-6 }).itemSync()).toBe(1);
        ([last].flat() as Tensor[]).forEach((own, kind) => {
          const state = [states].flat()[kind]!.select(1, i);
          expect(state.allclose(own, { atol: 1e-6 }).itemSync()).toBe(1);
        });
      });
    });
  });

  it('stay in the graph of a captured function, with the bits of eager execution', () => {
    tidy(() => {
      seed(5);
      using gru = new nn.GRU(3, 4, { bidirectional: true });
      const x = randn([4, 3, 3]);
      const run = (input: Tensor) => {
        const packed = packPaddedSequence(input, [2, 4, 1], { enforceSorted: false });
        const [outputs, hidden] = gru.forwardPacked(packed);
        const [padded] = padPackedSequence(outputs);
        padded.square().sum().add(hidden.sum()).backward();
        return [padded, outputs.data, gru.cells[0]!.weightIh.grad!.clone()];
      };
      const values = (step: typeof run) => {
        gru.zeroGrad();
        return step(x).map((own) => own.tolist());
      };
      const eager = values(run);
      expect(values(toStatic(run, { fullGraph: true }))).toEqual(eager);
    });
  });

  it('may be computed element by element', () => {
    tidy(() => {
      const { data, batchSizes, sortedIndices } = packSequence([tensor([1, 2]), tensor([3])]);
      const doubled = packedSequence(data.mul(2), batchSizes, sortedIndices);
      expect(unpackSequence(doubled).map((own) => own.tolist())).toEqual([[2, 4], [6]]);
      const padded = tensor([1, 2, 3, 0], { shape: [2, 2] });
      const lengths = tensor([2, 1], { dtype: 'int32' });
      const alone = unpadSequence(padded, lengths, { batchFirst: true });
      expect(alone.map((own) => own.tolist())).toEqual([[1, 2], [3]]);
    });
  });

  it('are refused where they are none', () => {
    const x = randn([4, 2, 3]);
    const refusals: readonly (readonly [() => unknown, string])[] = [
      [() => packPaddedSequence(x, [2, 4]), 'the sequences are not sorted'],
      [() => packPaddedSequence(x, [4]), "the lengths don't fit"],
      [() => packPaddedSequence(x, [5, 2]), "the lengths don't fit"],
      [() => packPaddedSequence(x, [4, 0]), 'lengths has a wrong value'],
      [() => packedSequence(x, [2, 3]), 'not packed sequences'],
      [() => padPackedSequence(x as never), 'not packed sequences'],
      [() => unpadSequence(x, [5, 2]), 'unpadSequence: '],
      [() => unpadSequence(x, [4, 4, 4]), 'unpadSequence: '],
      [
        () => padPackedSequence(packPaddedSequence(x, [4, 2]), { totalLength: 3 }),
        'a sequence is longer than the result',
      ],
      [() => new nn.GRU(3, 2).forward(packSequence([x.select(1, 0)]) as never), 'forwardPacked()'],
      [() => new nn.LSTM(3, 2).forwardPacked(x as never), 'not packed sequences'],
      [() => new nn.GRU(2, 2).forwardPacked(packPaddedSequence(x, [4, 2])), 'not packed vectors'],
    ];
    for (const [refused, said] of refusals) expect(refused).toThrow(said);
  });

  it.each([false, true])('run the hooks of their module (captured: %s)', (isCaptured) => {
    seed(2);
    for (const module of [new nn.GRU(3, 2), new nn.LSTM(3, 2)]) {
      const log: unknown[] = [];
      const packed = packPaddedSequence(randn([4, 2, 3]), [4, 2]);
      const fn = () => module.forwardPacked(packed)[0].data;
      const plain = fn().tolist();
      const handles = [
        module.registerForwardPreHook((_module, [input, state]) => {
          const { data, ...rest } = input as typeof packed;
          log.push('before', state);
          return [{ ...rest, data: data.mul(2) }, state];
        }),
        module.registerForwardHook((_module, _inputs, output) => {
          const [{ data, ...rest }, state] = output as ReturnType<nn.GRU['forwardPacked']>;
          log.push('after');
          return [{ ...rest, data: data.mul(0) }, state];
        }),
      ];
      expect((isCaptured ? toStatic(fn) : fn)().abs().sum().itemSync()).toBe(0);
      expect(log).toEqual(['before', null, 'after']);
      for (const handle of handles) handle.remove();
      expect(fn().tolist()).toEqual(plain);
    }
  });

  it('refuse states of another size, and what is no order of a batch', () => {
    tidy(() => {
      using gru = new nn.GRU(3, 4);
      const packed = packPaddedSequence(randn([4, 3, 3]), [4, 3, 1]);
      for (const shape of [
        [1, 5, 4],
        [1, 2, 4],
        [2, 3, 4],
        [3, 4],
      ]) {
        expect(() => gru.forwardPacked(packed, randn(shape))).toThrow(
          'GRU: a state of another size',
        );
      }
      expect(() => gru.forwardPacked({ batchSizes: [1] } as never)).toThrow('not packed sequences');
      for (const order of [
        [0, 0, 0],
        [0, 7, 1],
        [0, 1],
      ]) {
        expect(() => packedSequence(packed.data, packed.batchSizes, order)).toThrow(
          'packedSequence: not packed sequences',
        );
      }
    });
  });
});
