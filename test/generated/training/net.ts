import { nn, type Tensor } from '../../../src/index.ts';

type Layer = nn.Module & { forward(x: Tensor): Tensor };

/** A model of `[n, 4]` to `[n, 3]`, with what events change between steps. */
export abstract class Net extends nn.Module {
  /** A branch of the forward. */
  skip = true;
  /** A number of the host that forward computes with. */
  scale = 1;
  /** A module that is there at times. */
  extra: Layer | null = null;
  /** Host state that forward writes. */
  calls = 0;
  activation: Layer = new nn.ReLU();
  head = new nn.Linear(6, 3);

  /** From `[n, 4]` to `[n, 6]`. */
  abstract features(x: Tensor): Tensor;

  override forward(x: Tensor): Tensor {
    this.calls++;
    const h = this.features(x);
    const extended = this.extra ? this.extra.forward(h) : h;
    return this.head.forward(extended.mul(this.scale));
  }

  /** The part that events freeze. */
  abstract get trunk(): nn.Module;
}
