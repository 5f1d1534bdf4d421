/** Reasons why a loop remains a loop of the program although JavaScript could count its iterations. */
export const keptBecause = {
  requested: 'keepLoop() asks for it',
  openSize: 'a dynamic size decides its number of iterations',
  manyIterations: 'it has more iterations than unrollLimit',
} as const;
