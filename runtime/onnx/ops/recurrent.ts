import { stack } from '../../ops/movement/joining.ts';
import { where } from '../../ops/pointwise/comparison.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { NodeFacts, Operator } from '../node/node.ts';
import { missing } from '../node/not-imported.ts';
import { type Operand, tensorOf, type Value } from '../values/host.ts';

/** One direction's weights: [gates · hidden, input], [gates · hidden, hidden], and both biases or null. */
interface Weights {
  readonly input: Tensor;
  readonly hidden: Tensor;
  readonly inputBias: Tensor | null;
  readonly hiddenBias: Tensor | null;
}

/** Returns the state [batch, hidden] after one step; an LSTM has two. */
type Cell = (x: Tensor, state: readonly Tensor[], weights: Weights) => readonly Tensor[];

const gate = (x: Tensor, number: number, hidden: number): Tensor =>
  x.narrow(1, number * hidden, hidden);

function product(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const product = x.matmul(weight.t());
  return bias ? product.add(bias) : product;
}

/** Gates in ONNX's order: input, output, forget, cell. */
const lstm: Cell = (x, [h, c], { input, hidden, inputBias, hiddenBias }) => {
  const size = h!.shape[1]!;
  const gates = product(x, input, inputBias).add(product(h!, hidden, hiddenBias));
  const [i, o, f] = [0, 1, 2].map((number) => gate(gates, number, size).sigmoid()) as [
    Tensor,
    Tensor,
    Tensor,
  ];
  const cell = f.mul(c!).add(i.mul(gate(gates, 3, size).tanh()));
  return [o.mul(cell.tanh()), cell];
};

/** Gates in ONNX's order: update, reset, hidden. */
const gru =
  (resetsProduct: boolean): Cell =>
  (x, [h], { input, hidden, inputBias, hiddenBias }) => {
    const size = h!.shape[1]!;
    const fromInput = product(x, input, inputBias);
    const fromHidden = product(h!, hidden, hiddenBias);
    const sum = (number: number) =>
      gate(fromInput, number, size).add(gate(fromHidden, number, size));
    const update = sum(0).sigmoid();
    const reset = sum(1).sigmoid();
    const rows = (each: Tensor | null) => (each ? each.narrow(0, 2 * size, size) : null);
    const own = resetsProduct
      ? reset.mul(gate(fromHidden, 2, size))
      : product(reset.mul(h!), hidden.narrow(0, 2 * size, size), rows(hiddenBias));
    const next = gate(fromInput, 2, size).add(own).tanh();
    return [next.sub(update.mul(next)).add(update.mul(h!))];
  };

const plain: Cell = (x, [h], { input, hidden, inputBias, hiddenBias }) => [
  product(x, input, inputBias)
    .add(product(h!, hidden, hiddenBias))
    .tanh(),
];

const directions = ['forward', 'reverse', 'bidirectional'] as const;

const defaults: Readonly<Record<string, readonly string[]>> = {
  LSTM: ['sigmoid', 'tanh', 'tanh'],
  GRU: ['sigmoid', 'tanh'],
  RNN: ['tanh'],
};

function recurrent(states: 1 | 2, cellOf: (node: NodeFacts) => Cell): Operator {
  return (node) => {
    const { attributes, opType } = node;
    const direction = attributes.choice('direction', directions, 'forward');
    const names = attributes.texts('activations')?.map((name) => name.toLowerCase());
    const usual = defaults[opType]!;
    if (names?.some((name, i) => name !== usual[i % usual.length])) {
      throw missing(`${opType} with other activations than ${usual.join(', ')}`);
    }
    if (attributes.has('clip') || attributes.flag('input_forget', false)) {
      throw missing(`${opType} with clip or input_forget`);
    }
    const isBatchFirst = attributes.flag('layout', false);
    const cell = cellOf(node);
    return (operands) => run(operands, { states, cell, direction, isBatchFirst });
  };
}

interface Layout {
  readonly states: 1 | 2;
  readonly cell: Cell;
  readonly direction: (typeof directions)[number];
  readonly isBatchFirst: boolean;
}

function run(operands: readonly Operand[], layout: Layout): readonly Value[] {
  const { states, cell, direction, isBatchFirst } = layout;
  const [input, w, r, b, lengths, ...initial] = operands;
  if (initial[states]) throw missing('LSTM with peepholes');
  const x = isBatchFirst ? tensorOf(input!).transpose(0, 1) : tensorOf(input!);
  const [steps, batch] = x.shape as [number, number];
  const hidden = tensorOf(r!).shape[2]!;
  const zeros = x.newZeros([batch, hidden]);
  const column = lengths ? tensorOf(lengths).unsqueeze(-1) : null;
  const count = direction === 'bidirectional' ? 2 : 1;
  const outputs: Tensor[] = [];
  const last: Tensor[][] = Array.from({ length: states }, () => []);
  for (let d = 0; d < count; d++) {
    const isReverse = direction === 'reverse' || d === 1;
    const weights = weightsOf(w!, r!, b, d);
    let state: readonly Tensor[] = Array.from({ length: states }, (_, i) => {
      const first = initial[i];
      if (!first) return zeros;
      return tensorOf(first).select(isBatchFirst ? 1 : 0, d);
    });
    const hiddens: Tensor[] = [];
    for (let t = 0; t < steps; t++) {
      const at = isReverse ? steps - 1 - t : t;
      const next = cell(x.select(0, at), state, weights);
      const isInside = column?.gt(at);
      // A sequence that has ended, or in reverse not yet started, keeps its state and outputs zeros.
      state = isInside ? next.map((each, i) => where(isInside, each, state[i]!)) : next;
      hiddens.push(isInside ? where(isInside, next[0]!, zeros) : next[0]!);
    }
    if (isReverse) hiddens.reverse();
    outputs.push(stack(hiddens, 0));
    for (let i = 0; i < states; i++) last[i]!.push(state[i]!);
  }
  // [steps, directions, batch, hidden], or batch first.
  const all = stack(outputs, 1);
  const finals = last.map((each) => stack(each, isBatchFirst ? 1 : 0));
  return [isBatchFirst ? all.permute([2, 0, 1, 3]) : all, ...finals];
}

function weightsOf(w: Value, r: Value, b: Operand | undefined, direction: number): Weights {
  const [input, hidden] = [w, r].map((each) => tensorOf(each).select(0, direction)) as [
    Tensor,
    Tensor,
  ];
  if (!b) return { input, hidden, inputBias: null, hiddenBias: null };
  const biases = tensorOf(b).select(0, direction);
  const size = input.shape[0]!;
  return {
    input,
    hidden,
    inputBias: biases.narrow(0, 0, size),
    hiddenBias: biases.narrow(0, size, size),
  };
}

export const recurrentOperators: Readonly<Record<string, Operator>> = {
  LSTM: recurrent(2, () => lstm),
  GRU: recurrent(1, ({ attributes }) => gru(attributes.flag('linear_before_reset', false))),
  RNN: recurrent(1, () => plain),
};
