/** Why a loop whose turns the host could count is a loop of the program. */
export const keptBecause = {
  asked: 'keepLoop() asks for it',
  openSize: 'a size that inputSpec leaves open decides its turns',
  manyTurns: 'it takes more turns than unrollLimit',
} as const;
