import { refusedReply } from '../../../src/lab/wire/http-reply.js';

function messageOf(status: number, type: string | undefined, body: string): string {
  const headers = type === undefined ? {} : { 'content-type': type };
  return refusedReply('http://localhost:8080/dep/enroll?token=secret', {
    status,
    headers,
    body: Buffer.from(body),
  }).message;
}

describe('the error for a refused request', () => {
  it.each([
    ['text', 'text/plain', 'enrollment is\nclosed\n', 'enrollment is closed'],
    ['a page', 'text/html', '<title>x</title><h1>No</h1><style>h1{}</style>way', 'No way'],
    ["Apple's codes", 'application/json', '{"code":"a.b","description":"not here"}', 'not here'],
    ['a code alone', 'application/json', '{"code":"a.b"}', 'a.b'],
    [
      'a system that is too old',
      'application/json',
      '{"code":"com.apple.softwareupdate.required","details":{"OSVersion":"18.1"}}',
      'the device needs version 18.1 of its system first',
    ],
    ['broken JSON', 'application/json', '{', 'it gave no reason'],
    ['bytes', 'application/octet-stream', 'abc', 'it gave no reason'],
    ['nothing', undefined, '', 'it gave no reason'],
  ])('is %s', (_what, type, body, words) => {
    expect(messageOf(403, type, body)).toBe(
      `http://localhost:8080/dep/enroll answered 403: ${words}`,
    );
  });

  it('holds only the beginning of a long page', () => {
    expect(messageOf(400, 'text/plain', 'x'.repeat(5_000)).length).toBeLessThan(300);
  });
});
