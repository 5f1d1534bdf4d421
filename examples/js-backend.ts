/**
 * A backend that writes one JavaScript function for each program: loops over typed arrays for float32 arithmetic that
 * rounds exactly, fused ops as one loop each, and the device's kernels for everything else. Results are bitwise those
 * of the kernels, because `Math.fround` rounds like float32 arithmetic.
 */

import {
  type Backend,
  type CompiledProgram,
  crossEntropy,
  type Expr,
  nn,
  optim,
  type Program,
  type ProgramOp,
  type RunningSteps,
  randn,
  registerBackend,
  seed,
  toStatic,
} from '../src/index.ts';

type Values = Program['values'];

/** One result of an op: its operands, its expression, and where it is stored. */
interface Part {
  readonly expr: Expr;
  /** Names of variables. */
  readonly operands: readonly string[];
  /** Prefix of its attributes' names. */
  readonly prefix: string;
}

/** Returns the expression as JavaScript; null if JavaScript doesn't compute it exactly. */
function textOf(expr: Expr, part: Part): string | null {
  const inner = (...given: readonly Expr[]): readonly string[] | null => {
    const texts = given.map((each) => textOf(each, part));
    return texts.includes(null) ? null : (texts as string[]);
  };
  switch (expr.kind) {
    case 'input':
      return part.operands[expr.index] ?? null;
    case 'const':
      return String(Math.fround(expr.value));
    case 'attr':
      return `fround(attrs[${JSON.stringify(part.prefix + expr.name)}])`;
    case 'unary': {
      const [x] = inner(expr.x) ?? [];
      if (x === undefined) return null;
      if (expr.fn === 'neg') return `(-${x})`;
      if (expr.fn === 'sqrt') return `fround(Math.sqrt(${x}))`;
      return ['abs', 'floor', 'ceil', 'trunc'].includes(expr.fn) ? `Math.${expr.fn}(${x})` : null;
    }
    case 'binary': {
      const [x, y] = inner(expr.x, expr.y) ?? [];
      if (x === undefined) return null;
      if (expr.fn === 'max' || expr.fn === 'min') return `Math.${expr.fn}(${x}, ${y})`;
      const sign = { add: '+', sub: '-', mul: '*', div: '/' }[expr.fn as string];
      return sign ? `fround(${x} ${sign} ${y})` : null;
    }
    case 'compare': {
      const [x, y] = inner(expr.x, expr.y) ?? [];
      const sign = { eq: '===', ne: '!==', lt: '<', le: '<=', gt: '>', ge: '>=' }[expr.fn];
      return x === undefined ? null : `(${x} ${sign} ${y} ? 1 : 0)`;
    }
    case 'select': {
      const [test, then, otherwise] = inner(expr.test, expr.then, expr.otherwise) ?? [];
      return test === undefined ? null : `(${test} !== 0 ? ${then} : ${otherwise})`;
    }
    default:
      return null;
  }
}

const sizeOf = ({ shape }: { readonly shape: readonly number[] }): number =>
  shape.reduce((size, each) => size * each, 1);

/** Whether the elements are contiguous in memory. */
function isDense({ shape, strides }: Values[number]): boolean {
  let expected = 1;
  return shape.every((_, i) => {
    const dim = shape.length - 1 - i;
    const fits = shape[dim] === 1 || strides[dim] === expected;
    expected *= shape[dim]!;
    return fits;
  });
}

/** Returns the parts of an op, and the value that each computes; null if the op isn't pointwise. */
function partsOf({ op, inputs, outputs }: ProgramOp) {
  const { kernel } = op;
  if (kernel.kind === 'pointwise') {
    const operands = inputs.map((_, i) => `x${i}`);
    const target = op.inPlace ? inputs[0]! : outputs[0]!;
    return { parts: [{ expr: kernel.expr, operands, prefix: '' }], stores: [[target, 0] as const] };
  }
  if (kernel.kind !== 'fused') return null;
  const { body } = kernel;
  if (body.parts.some(({ dtype }) => dtype !== 'float32')) return null;
  const parts = body.parts.map(({ expr, operands }, i): Part => {
    const names = operands.map((each) => ('part' in each ? `v${each.part}` : `x${each.operand}`));
    return { expr, operands: names, prefix: `${i}.` };
  });
  const made = body.results.map((part, i) => [outputs[i]!, part] as const);
  const written = body.writes.map(({ operand, part }) => [inputs[operand]!, part] as const);
  return { parts, stores: [...made, ...written] };
}

/** Returns a loop for step `index`; null if the device's kernel runs it. */
function loopOf(op: ProgramOp, index: number, values: Values): string | null {
  const found = partsOf(op);
  if (!found) return null;
  const { parts, stores } = found;
  const size = sizeOf(values[stores[0]![0]]!);
  const ids = [...op.inputs, ...stores.map(([id]) => id)];
  const metas = ids.map((id) => values[id]!);
  const stored = stores.map(([id]) => values[id]!);
  const fits =
    metas.every((meta) => meta.dtype === 'float32' && isDense(meta)) &&
    metas.every((meta) => sizeOf(meta) === size || sizeOf(meta) === 1) &&
    stored.every((meta) => sizeOf(meta) === size);
  const texts = parts.map((part) => textOf(part.expr, part));
  if (!fits || texts.includes(null)) return null;
  const steps = (id: number) => (sizeOf(values[id]!) === size ? ' + i' : '');
  return [
    `if (steps.begin(${index})) {`,
    '  if (f32.buffer !== steps.buffer) f32 = new Float32Array(steps.buffer);',
    `  const attrs = steps.attrs(${index});`,
    ...op.inputs.map((id, i) => `  const at${i} = steps.address(${id}) >> 2;`),
    ...stores.map(([id], i) => `  const to${i} = steps.address(${id}) >> 2;`),
    `  for (let i = 0; i < ${size}; i++) {`,
    ...op.inputs.map((id, i) => `    const x${i} = f32[at${i}${steps(id)}];`),
    ...texts.map((text, i) => `    const v${i} = ${text};`),
    ...stores.map(([, part], i) => `    f32[to${i} + i] = v${part};`),
    '  }',
    `  steps.end(${index});`,
    '}',
  ].join('\n');
}

/** Counts of compiled programs and steps. */
export const counts = { programs: 0, loops: 0, kernels: 0, disposed: 0 };

export const jsBackend: Backend = {
  name: 'js',
  compile({ ops, values }, _plan, device): CompiledProgram {
    const lines = ops.map((op, index) => {
      const loop = device.kind === 'cpu' ? loopOf(op, index, values) : null;
      if (loop) counts.loops++;
      else counts.kernels++;
      return loop ?? `steps.kernel(${index});`;
    });
    counts.programs++;
    const body = `let f32 = new Float32Array(0);\nreturn (steps) => {\n${lines.join('\n')}\n};`;
    const run = new Function('fround', body)(Math.fround) as (steps: RunningSteps) => void;
    return {
      run,
      dispose: () => {
        counts.disposed++;
      },
    };
  },
};

registerBackend(jsBackend);

if (process.argv[1]?.includes('js-backend')) {
  const train = (backend: string): number[] => {
    seed(1);
    const model = new nn.Sequential(new nn.Linear(8, 32), new nn.ReLU(), new nn.Linear(32, 2));
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
    const x = randn([64, 8]);
    const y = x.sum(1).gt(0).int();
    const step = toStatic(
      () => {
        const loss = crossEntropy(model.forward(x), y);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { backend },
    );
    return Array.from({ length: 5 }, () => step().itemSync());
  };
  const [kernels, js] = [train('wasm'), train('js')];
  console.log(`losses ${js.map((loss) => loss.toFixed(4)).join(', ')}`);
  console.log(`the bits of the kernels: ${js.every((loss, i) => loss === kernels[i])}`);
  console.log(`${counts.loops} steps are loops, ${counts.kernels} are kernels of the device`);
}
