/**
 * PyTorch's spelling of a name: `encoder.inProjWeight` is `encoder.in_proj_weight`. The modules of `nn` have
 * PyTorch's names but for the case of letters.
 */
export function torchName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
