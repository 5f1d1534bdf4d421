/** A small training step as a folder that `tostatic scale` writes. */

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { saveNpy } from '../../runtime/weights/index.ts';
import { scaleFile } from '../../src/cli/scale-file.ts';
import { nn, optim, save, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';

export const batch = 8;

/** Rows of both arguments, for `steps` steps. */
function rows(steps: number): Tensor[] {
  const x = Float32Array.from({ length: steps * batch * 6 }, (_, k) => Math.sin(3 * k + (k >> 5)));
  const y = Float32Array.from({ length: steps * batch * 4 }, (_, k) => Math.cos(k * k));
  return [tensor(x, { shape: [steps * batch, 6] }), tensor(y, { shape: [steps * batch, 4] })];
}

/** Writes a saved step, and data for `steps` steps, to a new folder under `root`. */
export class StepToScale {
  readonly root = mkdtempSync(join(tmpdir(), 'tostatic-scale-'));
  readonly file = join(this.root, 'step.tostatic');
  readonly model: nn.Module;
  readonly step: (x: Tensor, y: Tensor) => Tensor;

  /** `dropout`: the share of elements that random numbers drop. */
  constructor({ dropout = 0 } = {}) {
    seed(3);
    const model = new nn.Sequential(
      new nn.Linear(6, 16),
      new nn.GELU(),
      new nn.Dropout(dropout),
      new nn.Linear(16, 4),
    );
    const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
    this.model = model;
    this.step = toStatic(
      (x: Tensor, y: Tensor) => {
        const loss = model.forward(x).sub(y).square().mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { fullGraph: true },
    );
    // Numbers that change from call to call become inputs.
    const [x, y] = rows(1);
    for (let i = 0; i < 3; i++) this.step(x!, y!);
  }

  async save(): Promise<void> {
    await save(this.step, this.file);
  }

  async scaled(name: string, mesh: string, shard: readonly string[] = []): Promise<string> {
    const out = join(this.root, name);
    await scaleFile(this.file, { mesh, shard, out });
    return out;
  }

  async writeData(folder: string, steps: number): Promise<void> {
    const [x, y] = rows(steps);
    await saveNpy(x!, join(folder, 'data/arg.0.npy'));
    await saveNpy(y!, join(folder, 'data/arg.1.npy'));
  }

  /** Losses of the next steps here. */
  losses(steps: number): number[] {
    const [x, y] = rows(steps);
    return Array.from({ length: steps }, (_, i) =>
      this.step(x!.narrow(0, i * batch, batch), y!.narrow(0, i * batch, batch)).itemSync(),
    );
  }
}
