/** Why a loop with iterations that JavaScript could count remains a loop of the program. */
export const keptBecause = {
  requested: 'keepLoop() asks for it',
  openSize: 'a dynamic size decides its number of iterations',
  manyIterations: 'it has more iterations than unrollLimit',
} as const;
