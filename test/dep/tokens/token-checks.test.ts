import { requireSameEnvironment } from '../../../src/dep/tokens/token-checks.js';
import { AppError } from '../../../src/errors.js';

const refusal = (isLabOn: boolean, key: string): string => {
  try {
    requireSameEnvironment(key, { isLabOn });
    return 'taken';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `${error.status} ${error.code}: ${error.message}`;
  }
};

it("a token of Apple's is refused while the lab is on, one of the lab's while it is off", () => {
  expect(refusal(true, 'CK_1')).toBe(
    "409 lab_only: with LAB=on only tokens of the lab's portal are accepted: see GET /lab",
  );
  expect(refusal(false, 'CK_lab_1')).toBe(
    "409 lab_only: the token is of the lab's portal, and LAB is off",
  );
  expect([refusal(true, 'CK_lab_1'), refusal(false, 'CK_1')]).toEqual(['taken', 'taken']);
});
