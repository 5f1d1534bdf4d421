/** `tostatic scale`: the folder that it writes, and what it refuses. */

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openWeights } from '../../runtime/weights/index.ts';
import { exportStableHLO } from '../../src/export/index.ts';
import type { ScalePlan } from '../../src/export/scale/scale-plan.ts';
import { nn, randn, save, type Tensor, toStatic } from '../../src/index.ts';
import { notTested } from '../not-tested.ts';
import { xlaPython } from './python.ts';
import { StepToScale } from './scaled-step.ts';

let made: StepToScale;
beforeAll(async () => {
  vi.spyOn(console, 'log').mockImplementation(() => {});
  made = new StepToScale();
  await made.save();
});
afterAll(() => rmSync(made.root, { recursive: true }));

class Parts extends nn.Module {
  readonly parts: nn.ModuleList<nn.Sequential>;

  constructor(parts: nn.ModuleList<nn.Sequential>) {
    super();
    this.parts = parts;
  }

  override forward(x: Tensor): Tensor {
    let y = x;
    for (const part of this.parts) y = part.forward(y);
    return y;
  }
}

const planOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'scale.json'), 'utf8')) as ScalePlan;
const specsOf = (folder: string) =>
  Object.fromEntries(planOf(folder).inputs.map(({ name, spec }) => [name, spec]));

describe('a folder of tostatic scale', () => {
  it('has the program, its state, the plan, the runner and an empty folder of data', async () => {
    const folder = await made.scaled('files', 'data=4');
    expect(readdirSync(folder).sort()).toEqual(
      ['README.md', 'data', 'run.py', 'scale.json', 'state.safetensors', 'step.mlir'].sort(),
    );
    expect(readFileSync(join(folder, 'step.mlir'), 'utf8')).toContain('func.func public @main');
    const { inputs, outputs } = planOf(folder);
    await using weights = await openWeights(join(folder, 'state.safetensors'));
    const tensors = inputs.filter(({ kind, value }) => kind === 'state' && value === null);
    expect(weights.names().toSorted()).toEqual(tensors.map(({ name }) => name).sort());
    for (const { name, shape } of tensors) expect(weights.info(name).shape).toEqual(shape);
    for (const { feeds, name } of outputs)
      if (feeds !== null) expect(inputs[feeds]!.name).toBe(name);
  });

  it('is the same, byte by byte, when it is written again', async () => {
    const [a, b] = [await made.scaled('one', 'data=2'), await made.scaled('two', 'data=2')];
    for (const name of readdirSync(a).filter((file) => file !== 'data')) {
      expect(readFileSync(join(a, name)).equals(readFileSync(join(b, name)))).toBe(true);
    }
  });

  it('splits batches over data, and what hints name over other axes', async () => {
    const specs = specsOf(
      await made.scaled('hints', 'data=2,model=2', ['*.weight=model', 'model.0.weight=-,model']),
    );
    expect(specs).toMatchObject({
      'arg.0': ['data'],
      'arg.1': ['data'],
      'model.0.weight': [null, 'model'],
      'model.3.weight': ['model'],
      'model.0.bias': [],
      'optimizer.stepsTaken': [],
    });
  });
});

/** The runner in a Python that has no packages; null, said loudly, where there is no Python. */
function withPython(
  ...options: readonly string[]
): { status: number | null; output: string } | null {
  const { error, status, stdout, stderr } = spawnSync('python3', options, { encoding: 'utf8' });
  if (!error) return { status, output: stdout + stderr };
  notTested('the runner of tostatic scale', 'there is no python3');
  return null;
}

describe('the runner', () => {
  const runner = join(import.meta.dirname, '../../src/export/scale/run.py');

  it('is parsed by Python', ({ skip }) => {
    const parse = `import ast; ast.parse(open(${JSON.stringify(runner)}).read(), feature_version=(3, 10))`;
    expect(withPython('-c', parse) ?? skip()).toEqual({ status: 0, output: '' });
  });

  it('finds every damage of the plan', async ({ skip }) => {
    const plan = join(await made.scaled('whole', 'data=2'), 'scale.json');
    const script = join(import.meta.dirname, 'damaged-plans.py');
    const { output } = withPython(script, runner, made.root, plan) ?? skip();
    expect(output).toMatch(/^2000 damaged plans, \d+ rejected\n$/);
  });

  // Its environment has the NumPy that the runner needs.
  const python = xlaPython();

  it.runIf(python)('finds every damage of checkpoints and data', () => {
    const script = join(import.meta.dirname, 'damaged-checkpoints.py');
    const output = execFileSync(python!, [script, runner, made.root], { encoding: 'utf8' });
    expect(output).toMatch(/^(600 damaged (files|arrays), \d+ rejected\n){2}$/);
  });
});

describe('state of a saved program', () => {
  it('has the names of the state dict, wherever modules name their parts otherwise', async () => {
    const build = () => {
      const inner = new nn.Sequential(new nn.Linear(4, 4), new nn.BatchNorm1d(4));
      const parts = new nn.ModuleList([inner, new nn.Sequential(new nn.Linear(4, 4))]);
      return new nn.Sequential(new Parts(parts), new nn.PReLU());
    };
    const model = build();
    const predict = toStatic((x: Tensor) => model.forward(x), { fullGraph: true });
    predict(randn([3, 4]));
    const { state } = await exportStableHLO(predict);
    await using weights = await openWeights(state);
    const fresh = build();
    const own = Object.keys(fresh.stateDict());
    const read = own.filter((name) => !name.endsWith('numBatchesTracked'));
    expect(weights.names()).toEqual(expect.arrayContaining(read.map((name) => `model.${name}`)));
    const names = (name: string) => `model.${name}`;
    await weights.loadInto(fresh, { names, strict: false });
    model.eval();
    fresh.eval();
    const x = randn([3, 4]);
    expect(fresh.forward(x).dataSync()).toEqual(model.forward(x).dataSync());
  });
});

describe('tostatic scale rejects', () => {
  it.each([
    ['data', 'the mesh'],
    ['data=0', 'the mesh'],
    ['data=2,data=2', 'the mesh'],
    ['data=4,', 'the mesh'],
    ['data=3', "arg.0 can't be split"],
  ])('the mesh %s', async (mesh, message) => {
    await expect(made.scaled('rejected', mesh)).rejects.toThrow(message);
  });

  it.each([
    ['weight', 'a shard hint'],
    ['=model', 'a shard hint'],
    ['*.weight=pipe', 'a shard hint'],
    ['*.weight=model,model', 'a shard hint'],
    ['weights=model', 'a shard hint matches no tensor'],
    ['*.bias=-,model', "model.0.bias can't be split"],
    ['model.0.weight=-,model', "model.0.weight can't be split"],
  ])('the hint %s', async (hint, message) => {
    await expect(made.scaled('rejected', 'model=4', [hint])).rejects.toThrow(message);
  });

  it('a folder in use', async () => {
    await made.scaled('used', 'data=2');
    await expect(made.scaled('used', 'data=2')).rejects.toThrow('the folder is not empty');
  });

  it('a program that changes no state', async () => {
    const f = toStatic((x: Tensor) => x.square(), { fullGraph: true });
    f(randn([4]));
    await save(f, made.file.replace('step', 'predict'));
    const predict = Object.create(made, { file: { value: made.file.replace('step', 'predict') } });
    await expect((predict as StepToScale).scaled('rejected', 'data=2')).rejects.toThrow(
      'the program changes no state',
    );
  });
});
