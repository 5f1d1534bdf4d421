import { convolutionMethods } from '../../../../runtime/device/cpu/conv/scalar-conv.ts';
import { loopMethods } from '../../../../runtime/device/cpu/core/loops.ts';
import { indexingMethods } from '../../../../runtime/device/cpu/movement/indexing.ts';
import { lossMethods } from '../../../../runtime/device/cpu/scalar/loss.ts';
import { orderMethods } from '../../../../runtime/device/cpu/scalar/order.ts';
import { poolMethods } from '../../../../runtime/device/cpu/scalar/pool.ts';
import { extremeMethods, reductionMethods } from '../../../../runtime/device/cpu/scalar/reduce.ts';
import { resampleMethods } from '../../../../runtime/device/cpu/scalar/resample.ts';
import { scanMethods } from '../../../../runtime/device/cpu/scalar/scan.ts';
import { softmaxMethods } from '../../../../runtime/device/cpu/scalar/softmax.ts';
import { standardizeMethods } from '../../../../runtime/device/cpu/scalar/standardize.ts';
import { replacingMethods } from './replacing-kernels.ts';

/** The host kernels that a module may contain. Names are unique: each is a member of one object in a module. */
const all = {
  ...loopMethods,
  ...lossMethods,
  ...softmaxMethods,
  ...standardizeMethods,
  ...convolutionMethods,
  ...orderMethods,
  ...poolMethods,
  ...resampleMethods,
  ...scanMethods,
  ...reductionMethods,
  ...extremeMethods,
  ...indexingMethods,
  ...replacingMethods,
};

/** The text of these methods and of the methods that they call, as members of an object. */
export function hostText(names: Iterable<string>): string {
  const texts = new Map<string, string>();
  const add = (name: string): void => {
    if (texts.has(name) || !Object.hasOwn(all, name)) return;
    const text = String(all[name as keyof typeof all]);
    texts.set(name, text);
    for (const [, called] of text.matchAll(/this\.(\w+)\(/g)) add(called!);
  };
  for (const name of names) add(name);
  return [...texts.values()].join(',\n');
}
