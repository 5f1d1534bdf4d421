import { describe, expect, it } from 'vitest';
import {
  GRU,
  GRUCell,
  LSTM,
  LSTMCell,
  type Module,
  RNN,
  RNNCell,
} from '../../../runtime/nn/index.ts';
import { zeros } from '../../../runtime/ops/movement/create.ts';
import { randn } from '../../../runtime/ops/random/drawn.ts';
import { tidy } from '../../../runtime/tensor/lifetime.ts';
import { toStatic } from '../../../src/index.ts';
import { expectClose, type Tensor, tensor } from '../../ops/eager.ts';

const both = { numLayers: 2, bidirectional: true } as const;

describe('recurrent modules', () => {
  it('go on from a state: two halves are the whole', () => {
    tidy(() => {
      const x = randn([6, 2, 3]);
      const halves = [x.narrow(0, 0, 3), x.narrow(0, 3, 3)] as const;
      using lstm = new LSTM(3, 4, { numLayers: 2 });
      const [whole, [, cell]] = lstm.forward(x);
      const [, middle] = lstm.forward(halves[0]);
      const [second, [, lastCell]] = lstm.forward(halves[1], middle);
      expectClose(second.dataSync(), whole.narrow(0, 3, 3).dataSync(), 'outputs');
      expectClose(lastCell.dataSync(), cell.dataSync(), 'cell state');
    });
  });

  it('cells are one step of the layer', () => {
    tidy(() => {
      const x = randn([1, 2, 3]);
      const check = (layer: Module, output: Tensor, cell: Module, step: Tensor) => {
        expectClose(step.dataSync(), output.dataSync(), layer.constructor.name);
        layer.dispose();
        cell.dispose();
      };
      const [rnn, rnnCell] = [
        new RNN(3, 4, { nonlinearity: 'relu' }),
        new RNNCell(3, 4, { nonlinearity: 'relu' }),
      ];
      const load = (cell: Module, layer: { readonly cells: readonly Module[] }) =>
        cell.loadStateDict((layer.cells[0] as Module).stateDict());
      load(rnnCell, rnn);
      check(rnn, rnn.forward(x)[0], rnnCell, rnnCell.forward(x.select(0, 0)));
      const [gru, gruCell] = [new GRU(3, 4), new GRUCell(3, 4)];
      load(gruCell, gru);
      const start = randn([1, 2, 4]);
      const step = gruCell.forward(x.select(0, 0), start.select(0, 0));
      check(gru, gru.forward(x, start)[0], gruCell, step);
      const [lstm, lstmCell] = [new LSTM(3, 4), new LSTMCell(3, 4)];
      load(lstmCell, lstm);
      check(lstm, lstm.forward(x)[1][1], lstmCell, lstmCell.forward(x.select(0, 0))[1]);
    });
  });

  it('sequences of their own lengths run as if each were alone', () => {
    tidy(() => {
      const x = randn([5, 3, 3]);
      const steps = [5, 2, 3];
      const lengths = tensor(Int32Array.from(steps));
      for (const layer of [new GRU(3, 4, both), new RNN(3, 4, both), new LSTM(3, 4, both)]) {
        const [outputs, state] = layer.forward(x, null, lengths);
        steps.forEach((length, i) => {
          const [alone, own] = layer.forward(x.narrow(0, 0, length).narrow(1, i, 1));
          const part = outputs.narrow(1, i, 1);
          expectClose(part.narrow(0, 0, length).dataSync(), alone.dataSync(), 'outputs');
          expect(
            part
              .narrow(0, length, 5 - length)
              .abs()
              .sum()
              .itemSync(),
          ).toBe(0);
          [own].flat().forEach((last, kind) => {
            const batch = [state].flat()[kind]!;
            expectClose(batch.narrow(1, i, 1).dataSync(), last.dataSync(), 'state');
          });
        });
        layer.dispose();
      }
    });
  });

  it('captured, sequences padded to one length are one program for all their lengths', () => {
    using gru = new GRU(3, 4);
    const run = (x: Tensor, lengths: Tensor) => gru.forward(x, null, lengths)[0];
    const captured = toStatic(run);
    tidy(() => {
      const x = randn([6, 2, 3]);
      for (const length of [5, 2, 6, 3, 1, 4]) {
        const lengths = tensor(Int32Array.of(length, 6));
        expect(captured(x, lengths).toArraySync()).toEqual(run(x, lengths).toArraySync());
      }
    });
    expect(captured.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
  });

  it('dropout lies between the layers, while training', () => {
    tidy(() => {
      const x = randn([2, 3, 4]);
      using gru = new GRU(4, 4, { numLayers: 2, dropout: 0.5 });
      using plain = new GRU(4, 4, { numLayers: 2 });
      plain.loadStateDict(gru.stateDict());
      const run = (layer: GRU) => [...layer.forward(x)[0].dataSync()];
      expect(run(gru)).not.toEqual(run(plain));
      gru.eval();
      expect(run(gru)).toEqual(run(plain));
    });
  });

  it('refuse what is no batch of sequences', () => {
    tidy(() => {
      using gru = new GRU(3, 4);
      expect(() => gru.forward(zeros([2, 4]))).toThrow('GRU: not a batch of sequences');
      expect(() => gru.forward(zeros([2, 2, 4]))).toThrow('expected: [steps, batch, 3]');
    });
  });
});
