/** Whole training steps as modules: the losses and the state of ours, to the last bit. */

import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { loadProgram } from '../../../runtime/index.ts';
import { exportModule } from '../../../src/export/index.ts';
import { save, seed, type Tensor, toStatic } from '../../../src/index.ts';
import { withInterop } from '../python.ts';
import { trainingCases } from '../training-steps.ts';
import { instanceOf, type ModuleTensor } from './module-instance.ts';

describe('training steps as modules', () => {
  it.each(Object.keys(trainingCases))('%s', { timeout: 120_000 }, async (name) => {
    seed(3);
    const { step, inputs, dispose } = trainingCases[name]!.build();
    const compiled = toStatic(step, { fullGraph: true });
    for (let i = 0; i < 3; i++) compiled(...inputs(i));
    const file = await save(compiled);
    const loaded = await loadProgram(file);
    const t0 = performance.now();
    const { code, memory } = await exportModule(file);
    const t1 = performance.now();
    const model = await instanceOf(code);
    const batches = Array.from({ length: 20 }, (_, i) => inputs(3 + i));
    seed(7);
    model.seed(7);
    const losses = batches.map((batch) => (loaded(...batch) as Tensor).itemSync());
    const t2 = performance.now();
    const theirs = batches.map((batch) => {
      return (model.run(...batch.map((each) => each.dataSync())) as ModuleTensor).data[0];
    });
    const t3 = performance.now();
    console.log(
      name,
      memory,
      loaded.predicted(),
      code.length,
      gzipSync(code.replace(/const data = '.*'/, '')).length,
      t1 - t0,
      t3 - t2,
    );
    expect(theirs).toEqual(losses);
    const state = model.state();
    for (const [key, tensor] of Object.entries(loaded.state())) {
      expect(state[key]!.data, key).toEqual(tensor.dataSync());
    }
    expect(model.variables()).toEqual(loaded.variables());
    dispose();
  });
});
