import { enableGrad, noGrad } from '../autograd/grad-mode.ts';
import { expectArguments } from '../options/expect-options.ts';
import { flag } from '../options/option-kinds.ts';

/** Runs `body` with gradient recording on or off: `setGradEnabled(training, () => model.forward(x))`. */
export function setGradEnabled<T>(enabled: boolean, body: () => T): T {
  expectArguments('setGradEnabled', { enabled }, { enabled: flag });
  return enabled ? enableGrad(body) : noGrad(body);
}
