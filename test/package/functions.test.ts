import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { installed } from './installed.ts';

const root = join(import.meta.dirname, '../..');

it('calls no method that its tensors lack', { timeout: 60_000 }, () => {
  const config = join(inject('packageFolder'), 'tsconfig.functions.json');
  // Methods of ops are declared where they are defined, in a file that these entries may not reach.
  const files = ['runtime/functions.ts', 'runtime/weights/index.ts', 'src/onnxruntime/index.ts'];
  const options = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
    include: [],
    files: files.map((file) => join(root, file)),
  };
  writeFileSync(config, JSON.stringify(options));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const run = () =>
    execFileSync(process.execPath, [tsc, '-p', config, '--listFiles'], {
      cwd: root,
      encoding: 'utf8',
    });
  const checked = run();
  expect(checked).toContain('runtime/tensor-methods/base-methods.ts');
  expect(checked).toContain('runtime/nn/attention.ts');
  expect(checked).not.toContain('runtime/tensor-methods/methods.ts');
});

it('trains a layer, prints its parameters and loads what it saved', {
  timeout: 240_000,
}, async () => {
  const { project } = await installed();
  const program = `
    import { arange, add, load, mean, mul, save, sub, tensor } from 'tostatic/functions';
    import { BatchNorm1d, Linear, Sequential } from 'tostatic/nn';
    import { Adam } from 'tostatic/optim';
    const model = new Sequential(new Linear(1, 4), new BatchNorm1d(4), new Linear(4, 1));
    const optimizer = new Adam(model.parameters(), { lr: 0.05 });
    const x = arange(0, 8, 1, { dtype: 'float32' });
    const inputs = tensor([...x].map((row) => [row.itemSync() / 8]));
    const targets = add(mul(inputs, 2), 1);
    let loss;
    for (let i = 0; i < 200; i++) {
      const error = sub(model.forward(inputs), targets);
      loss = mean(mul(error, error));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
    }
    const again = await load(await save(model.stateDict()));
    model.loadStateDict(again);
    console.log(loss.itemSync() < 0.05, typeof inputs.mul, String(tensor([1, 2])));`;
  writeFileSync(join(project, 'functions.mjs'), program);
  const printed = execFileSync(process.execPath, ['functions.mjs'], {
    cwd: project,
    encoding: 'utf8',
  });
  expect(printed).toBe('true undefined tensor([1., 2.])\n');
});
