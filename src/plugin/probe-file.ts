/** URL of the probe that instrumented modules import: TypeScript in this repository, otherwise the built file. */
export const probeFile = new URL(
  `../1-capture/marked/probe.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
);
