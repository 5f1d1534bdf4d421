import { expectArguments } from '../options/expect-options.ts';
import { text } from '../options/option-kinds.ts';

/**
 * Returns PyTorch's spelling of a name: `encoder.inProjWeight` becomes `encoder.in_proj_weight`. The modules of
 * `nn` have PyTorch's names in camel case.
 */
export function torchName(name: string): string {
  expectArguments('torchName', { name }, { name: text });
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
