/** A loop whose number of iterations JavaScript knows: unrolled, or kept as one loop of the program. */

import { keepLoop, type Tensor, tensor, toStatic } from '../src/index.ts';

/** Newton's iteration for square roots. */
function roots(x: Tensor, turns: number, kept: boolean): Tensor {
  let y = x;
  for (let turn = 0; turn < turns; turn++) {
    // A no-op in eager execution.
    if (kept) keepLoop();
    y = y.add(x.div(y)).mul(0.5);
  }
  return y;
}

for (const kept of [false, true]) {
  for (const turns of [4, 40]) {
    const captured = toStatic((x: Tensor) => roots(x, turns, kept), { fullGraph: true });
    const x = tensor([2, 9, 0.25]).requiresGrad_();
    const y = captured(x);
    y.sum().backward();
    const { forward } = captured.programs()[0]!.stages!;
    const how = kept ? 'kept' : 'unrolled';
    console.log(`${turns} turns, ${how}: ${forward.ops.length} ops`);
    console.log(`  roots ${[...y.dataSync()]}, gradients ${[...x.grad!.dataSync()]}`);
  }
}
