import { enableGrad, noGrad } from '../autograd/grad-mode.ts';

/** Runs `body` with gradients recorded or not: `setGradEnabled(training, () => model.forward(x))`. */
export function setGradEnabled<T>(enabled: boolean, body: () => T): T {
  return enabled ? enableGrad(body) : noGrad(body);
}
