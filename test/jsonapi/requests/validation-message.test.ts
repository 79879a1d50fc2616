import { z } from 'zod';
import { validationMessage } from '../../../src/jsonapi/requests/validation-message.js';

describe('the message of an invalid value', () => {
  it.each<[z.ZodType, unknown, string]>([
    [z.string().min(1), '', 'must have at least 1 character'],
    [z.string().min(2), 'a', 'must have at least 2 characters'],
    [z.string().max(3), 'abcd', 'must have at most 3 characters'],
    [z.array(z.int()).max(1), [1, 2], 'must have at most 1 element'],
    [z.int().min(0), -1, 'must be at least 0'],
    [z.int().max(7), 8, 'must be at most 7'],
    [z.int(), 1.5, 'must be a whole number'],
    [z.int(), '1', 'must be a number'],
    [z.string(), 7, 'must be a string'],
    [z.boolean(), 'yes', 'must be true or false'],
    [z.array(z.int()), {}, 'must be an array'],
    [z.record(z.string(), z.int()), [], 'must be an object'],
    [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
    [z.enum(['a']), 'c', 'must be a'],
    [z.strictObject({}), { x: 1, y: 2 }, 'has no member "x", "y"; there are none'],
    [z.strictObject({ a: z.int() }).partial(), { x: 1 }, 'has no member "x"; known: a'],
    [z.string().regex(/^a{2}$/), 'b', 'has a wrong form'],
    [z.string().regex(/^a{2}$/, 'must be 2 letters'), 'b', 'must be 2 letters'],
  ])('is plain English (%#)', (schema, value, message) => {
    const { error } = schema.safeParse(value, { error: validationMessage });
    expect(error?.issues.map((issue) => issue.message)).toEqual([message]);
  });
});
