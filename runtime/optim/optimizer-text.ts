import { plural } from '../errors/plural.ts';
import type { Optimizer } from './optimizer.ts';

/**
 * An optimizer with its groups, a line each:
 *
 *     SGD(
 *       (0): 2 parameters, lr=0.1, weightDecay=0, maximize=false, momentum=0.9, dampening=0, nesterov=false
 *     )
 */
export function optimizerText(optimizer: Optimizer): string {
  const lines = optimizer.groups.map(({ parameters, params, ...options }, i) => {
    const settings = Object.entries(options).map(
      ([name, value]) => `${name}=${shownOption(value)}`,
    );
    return `  (${i}): ${[plural(parameters.length, 'parameter'), ...settings].join(', ')}\n`;
  });
  return `${optimizer.constructor.name}(\n${lines.join('')})`;
}

const shownOption = (value: unknown): string =>
  Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
