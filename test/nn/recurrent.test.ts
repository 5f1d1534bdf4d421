import { describe, expect, it } from 'vitest';
import {
  GRU,
  GRUCell,
  LSTM,
  LSTMCell,
  type Module,
  RNN,
  RNNCell,
  type StateDict,
} from '../../runtime/nn/index.ts';
import { randn, zeros } from '../../runtime/ops/create.ts';
import { add, mul } from '../../runtime/ops/pointwise.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, type Tensor } from '../ops/eager.ts';
import { expectRecorded, type RecordedTensor, readRecords, toTensor } from '../ops/recorded.ts';

interface RecurrentRecord {
  readonly name: 'RNN' | 'GRU' | 'LSTM';
  readonly options: {
    readonly num_layers?: number;
    readonly bidirectional?: boolean;
    readonly batch_first?: boolean;
    readonly bias?: boolean;
  };
  readonly state: Readonly<Record<string, RecordedTensor>>;
  readonly inputs: readonly [RecordedTensor];
  readonly outputs: readonly RecordedTensor[];
  readonly gradOutputs: readonly RecordedTensor[];
  readonly inputGrads: readonly [RecordedTensor];
  readonly paramGrads: Readonly<Record<string, RecordedTensor>>;
}

const classes = { RNN, GRU, LSTM } as const;
const tolerance = { relative: 5e-5, absolute: 1e-5 };

/** `weight_ih_l1_reverse` of two directions is that of cell 3. */
function ownName(name: string, bidirectional: boolean): string {
  const [, kind, part, layer, reverse] = /^(\w+)_([ih]h)_l(\d)(_reverse)?$/.exec(name)!;
  const cell = Number(layer) * (bidirectional ? 2 : 1) + (reverse ? 1 : 0);
  return `cells.${cell}.${kind}${part === 'ih' ? 'Ih' : 'Hh'}`;
}

describe("recurrent modules give PyTorch's recorded outputs and gradients", () => {
  const records = readRecords<RecurrentRecord>(
    new URL('data/pytorch-recurrent.jsonl', import.meta.url),
  );
  for (const record of records) {
    it(`${record.name} ${JSON.stringify(record.options)}`, () => {
      const { num_layers: numLayers = 1, batch_first: batchFirst = false } = record.options;
      const { bidirectional = false, bias = true } = record.options;
      const before = allocated();
      tidy(() => {
        using module = new classes[record.name](3, 4, {
          numLayers,
          batchFirst,
          bidirectional,
          bias,
        });
        const named = Object.entries(record.state).map(([name, own]) => [
          ownName(name, bidirectional),
          toTensor(own),
        ]);
        module.loadStateDict(Object.fromEntries(named) as StateDict);
        const input = toTensor({ ...record.inputs[0], grad: true });
        const outputs = module.forward(input).flat();
        outputs.forEach((output, i) => {
          expectRecorded(output, record.outputs[i]!, `output ${i}`, tolerance);
        });
        const weighed = outputs.map((output, i) =>
          mul(output, toTensor(record.gradOutputs[i]!)).sum(),
        );
        weighed.reduce((all, next) => add(all, next)).backward();
        expectRecorded(input.grad!, record.inputGrads[0], "input's gradient", tolerance);
        for (const [name, expected] of Object.entries(record.paramGrads)) {
          const own = module.stateDict()[ownName(name, bidirectional)]!;
          expectRecorded(own.grad!, expected, `gradient of ${name}`, tolerance);
        }
        input.grad!.dispose();
      });
      expect(allocated()).toBe(before);
    });
  }
});

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
        cell.loadStateDict(layer.cells[0]!.stateDict());
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

  it('refuse what is no batch of sequences', () => {
    tidy(() => {
      using gru = new GRU(3, 4);
      expect(() => gru.forward(zeros([2, 3]))).toThrow('GRU: not a batch of sequences');
      expect(() => gru.forward(zeros([2, 2, 4]))).toThrow('expected: [steps, batch, 3]');
    });
  });
});
