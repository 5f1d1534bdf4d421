import type { Optimizer } from './optimizer.ts';

/**
 * An optimizer with its groups, a line each. There is no method for `console.log`: its name would be computed, so that
 * bundlers would keep the class in pages that don't use it.
 *
 *     SGD(
 *       (0): 2 parameters, lr=0.1, weightDecay=0, maximize=false, momentum=0.9, dampening=0, nesterov=false
 *     )
 */
export function optimizerText(optimizer: Optimizer): string {
  let text = `${optimizer.constructor.name}(\n`;
  for (const [i, { parameters, params, ...options }] of optimizer.groups.entries()) {
    text += `  (${i}): ${parameters.length} parameter${parameters.length === 1 ? '' : 's'}`;
    for (const [name, value] of Object.entries(options))
      text += `, ${name}=${Array.isArray(value) ? `[${value.map(String).join(', ')}]` : value}`;
    text += '\n';
  }
  return `${text})`;
}
