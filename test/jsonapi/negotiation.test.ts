import { checkAccept, checkContentType } from '../../src/jsonapi/negotiation.js';

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
  ])('takes %p', (header) => {
    expect(() => checkContentType(header)).not.toThrow();
  });
});

describe('checkAccept', () => {
  it.each([
    'application/vnd.api+json; charset=utf-8',
    'application/vnd.api+json; ext="x"',
    'text/html, application/vnd.api+json;version=1',
  ])('refuses %p with 406', (header) => {
    expect(() => checkAccept(header)).toThrow(expect.objectContaining({ status: 406 }));
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
  ])('takes %p', (header) => {
    expect(() => checkAccept(header)).not.toThrow();
  });
});
