/** Pixels that a column can be given. */
export const LEAST_WIDTH = 60;
export const MAX_WIDTH = 1_200;
