import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import {
  checkBody,
  checkContentType,
  negotiateForm,
} from '../../../src/jsonapi/requests/negotiation.js';

describe('checkContentType', () => {
  it.each([
    undefined,
    '',
    'text/plain',
    'application/jsonp',
    'application/vnd.api+json; charset=utf-8',
    'application/vnd.api+json; ext="https://example.com/x"',
    'application/json; charset=latin1',
    'multipart/form-data; boundary=x',
  ])('refuses %p with 415', (header) => {
    expect(() => checkContentType(header)).toThrow(
      expect.objectContaining({ status: 415, source: { header: 'Content-Type' } }),
    );
  });

  it.each([
    'application/vnd.api+json',
    'Application/VND.API+JSON',
    'application/vnd.api+json; profile="https://example.com/a,b"',
    'application/json',
    'application/json; charset=UTF-8',
  ])('accepts %p', (header) => {
    expect(() => checkContentType(header)).not.toThrow();
  });
});

describe('checkBody', () => {
  const check = (text: string) =>
    checkBody(new IncomingMessage(new Socket()), undefined, Buffer.from(text));
  const nested = (text: string, depth: number) =>
    '['.repeat(depth) + JSON.stringify(text) + ']'.repeat(depth);
  const texts = fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ']', '}', 'a', 'é', '\n') });

  it('counts the brackets outside of strings, whatever those hold', () => {
    fc.assert(
      fc.property(texts, texts, (first, second) => {
        const before = `[${JSON.stringify(first)},`;
        expect(() => check(`${before}${nested(second, 63)}]`)).not.toThrow();
        expect(() => check(`${before}${nested(second, 64)}]`)).toThrow('deeper than 64 levels');
      }),
    );
  });

  it('leaves a string without an end to the parser', () => {
    for (const text of ['"', '"\\', '"\\"', `"${'['.repeat(100)}`]) {
      expect(() => check(text)).not.toThrow();
    }
  });
});

describe('negotiateForm', () => {
  it.each([
    'application/vnd.api+json; charset=utf-8',
    'application/vnd.api+json; ext="x"',
    'text/html, application/vnd.api+json;version=1',
  ])('refuses %p with 406', (header) => {
    expect(() => negotiateForm(header)).toThrow(expect.objectContaining({ status: 406 }));
  });

  it.each([
    undefined,
    '*/*',
    'text/html',
    'application/json',
    'application/vnd.api+json',
    'application/vnd.api+json;q=0.5',
    'application/vnd.api+json; profile="a, b"',
    'application/vnd.api+json; ext="x", application/vnd.api+json',
  ])('accepts %p', (header) => {
    expect(() => negotiateForm(header)).not.toThrow();
  });
});

const STRINGS = 'application/vnd.api+json; profile="urn:muster:string-ids"';

describe('the form that Accept requests', () => {
  it.each([
    STRINGS,
    'application/vnd.api+json;profile=urn:muster:string-ids',
    'application/vnd.api+json; profile="https://example.com/a urn:muster:string-ids"',
    `${STRINGS}; q=0.9, application/vnd.api+json; q=0.5`,
    `application/vnd.api+json, ${STRINGS}`,
    `text/html, ${STRINGS}, */*; q=0.1`,
    `application/vnd.api+json; ext="x", ${STRINGS}; q=0.1`,
  ])('has string ids for %p', (header) => {
    expect(negotiateForm(header)).toEqual({ stringIds: true });
  });

  it.each([
    undefined,
    '*/*',
    'application/vnd.api+json',
    'application/vnd.api+json; profile="urn:muster:STRING-IDS"',
    'application/vnd.api+json; profile="urn:muster:string-ids-2"',
    `${STRINGS}; q=0.5, application/vnd.api+json`,
    `${STRINGS}; q=0, */*`,
    'application/json; profile="urn:muster:string-ids"',
    'text/html; profile="urn:muster:string-ids", application/vnd.api+json',
  ])('has numbers for %p', (header) => {
    expect(negotiateForm(header)).toEqual({ stringIds: false });
  });

  it.each([
    'application/vnd.api+json; profile="urn:muster:string-ids"; charset=utf-8',
    'application/vnd.api+json; profile="urn:muster:string-ids"; ext="x"',
  ])('is refused with 406 for %p', (header) => {
    expect(() => negotiateForm(header)).toThrow(expect.objectContaining({ status: 406 }));
  });
});
