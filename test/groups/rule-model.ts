import fc from 'fast-check';

/** True, false, or null: unknown. */
export type Truth = boolean | null;

export interface ModelApplication {
  bundle_identifier: string | null;
  short_version: string | null;
}

export interface ModelDevice {
  facts: {
    os_version: string | null;
    model: string | null;
    is_supervised: boolean | null;
    device_capacity: number | null;
    enrolled_at: Date | null;
  };
  tags: string[];
  applications: ModelApplication[];
  isListed: boolean;
}

/** A rule as JSON, and what it says of a device. */
export interface ModelRule {
  json: object;
  decide(device: ModelDevice): Truth;
}

const VERSIONS = ['17.2', '17.10', '18', '18.0.1'];
const MODELS = ['iPad', 'iPhone', 'Mac_1'];
const IDENTIFIERS = ['org.example.a', 'org.example.b'];
const TAGS = ['kiosk', 'staff'];
const HOUR = 3_600_000;

const orNull = <T>(values: T[]) => fc.constantFrom<(T | null)[]>(...values, null);

/** No time lies near the border of a duration. */
const ages = [1.5, 30.5, 800.5].map((hours) => new Date(Date.now() - hours * HOUR));

export const anyDevice: fc.Arbitrary<ModelDevice> = fc.record({
  facts: fc.record({
    os_version: orNull(VERSIONS),
    model: orNull(MODELS),
    is_supervised: orNull([true, false]),
    device_capacity: orNull([16, 64.5]),
    enrolled_at: orNull(ages),
  }),
  tags: fc.subarray(TAGS),
  applications: fc.array(
    fc.record({ bundle_identifier: orNull(IDENTIFIERS), short_version: orNull(VERSIONS) }),
    { maxLength: 3 },
  ),
  isListed: fc.boolean(),
});

function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split('.').map(Number));
  for (let part = 0; part < 3; part += 1) {
    const difference = (left?.[part] ?? 0) - (right?.[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const BY_ORDER: Record<string, (order: number) => boolean> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
};

function decideOrder(op: string, order: number | null): Truth {
  return order === null ? null : (BY_ORDER[op]?.(order) ?? null);
}

const anyOrder = fc.constantFrom(...Object.keys(BY_ORDER));

const versionRule = fc.tuple(anyOrder, fc.constantFrom(...VERSIONS)).map(
  ([op, val]): ModelRule => ({
    json: { name: 'os_version', op, val },
    decide: ({ facts: { os_version: own } }) =>
      decideOrder(op, own === null ? null : compareVersions(own, val)),
  }),
);

const versionList = fc.subarray(VERSIONS).map(
  (val): ModelRule => ({
    json: { name: 'os_version', op: 'in', val },
    decide: ({ facts: { os_version: own } }) => {
      if (own === null) return val.length === 0 ? false : null;
      return val.some((one) => compareVersions(own, one) === 0);
    },
  }),
);

const TEXTS: Record<string, (own: string, val: string) => boolean> = {
  eq: (own, val) => own === val,
  ne: (own, val) => own !== val,
  contains: (own, val) => own.includes(val),
  startswith: (own, val) => own.startsWith(val),
  notlike: (own, val) => own !== val.replaceAll('\\', ''),
};

const textRule = fc
  .tuple(fc.constantFrom(...Object.keys(TEXTS)), fc.constantFrom('iPad', 'i', 'Mac\\_1'))
  .map(
    ([op, val]): ModelRule => ({
      json: { name: 'model', op, val },
      decide: ({ facts: { model } }) => (model === null ? null : (TEXTS[op]?.(model, val) ?? null)),
    }),
  );

const nullRule = fc.constantFrom('is_', 'isnot', 'eq', 'ne').map(
  (op): ModelRule => ({
    json: { name: 'model', op, val: null },
    decide: ({ facts: { model } }) => (op === 'is_' || op === 'eq') === (model === null),
  }),
);

const flagRule = fc.tuple(fc.constantFrom('eq', 'ne', 'is', 'isnot'), fc.boolean()).map(
  ([op, val]): ModelRule => ({
    json: { name: 'is_supervised', op, val },
    decide: ({ facts: { is_supervised: own } }) => {
      if (op === 'is') return own === val;
      if (op === 'isnot') return own !== val;
      return own === null ? null : (op === 'eq') === (own === val);
    },
  }),
);

const rangeRule = fc.constantFrom<[number, number][]>([16, 32], [64, 65], [100, 1]).map(
  (val): ModelRule => ({
    json: { name: 'device_capacity', op: 'between', val },
    decide: ({ facts: { device_capacity: own } }) =>
      own === null ? null : own >= val[0] && own <= val[1],
  }),
);

const ageRule = fc
  .tuple(fc.constantFrom('lt', 'le', 'gt', 'ge'), fc.constantFrom(['PT20H', 20], ['P30D', 720]))
  .map(
    ([op, [val, hours]]): ModelRule => ({
      json: { name: 'enrolled_at', op, val },
      decide: ({ facts: { enrolled_at: own } }) =>
        own === null ? null : decideOrder(op, own.getTime() - (Date.now() - Number(hours) * HOUR)),
    }),
  );

const tagRule = fc.constantFrom(...TAGS).map(
  (val): ModelRule => ({
    json: { name: 'tags', op: 'any', val: { name: 'name', op: 'eq', val } },
    decide: ({ tags }) => tags.includes(val),
  }),
);

function any(truths: Truth[]): Truth {
  if (truths.includes(true)) return true;
  return truths.includes(null) ? null : false;
}

function ofListed({ applications, isListed }: ModelDevice, found: Truth): Truth {
  return any([found, isListed || applications.length > 0 ? false : null]);
}

const applicationRule = fc
  .tuple(
    fc.constantFrom(...IDENTIFIERS),
    fc.option(fc.tuple(anyOrder, fc.constantFrom(...VERSIONS))),
  )
  .map(([identifier, version]): ModelRule => {
    const name = { name: 'bundle_identifier', op: 'eq', val: identifier };
    const [op = '', val = ''] = version ?? [];
    const both = { and: [{ name: 'short_version', op, val }, name] };
    return {
      json: { name: 'installed_applications', op: 'any', val: version === null ? name : both },
      decide: (device) => {
        const named = device.applications.filter((one) => one.bundle_identifier === identifier);
        const truths = named.map(({ short_version: own }): Truth => {
          if (version === null) return true;
          return decideOrder(op, own === null ? null : compareVersions(own, val));
        });
        return ofListed(device, any(truths));
      },
    };
  });

function all(truths: Truth[]): Truth {
  if (truths.includes(false)) return false;
  return truths.includes(null) ? null : true;
}

const leaf = fc.oneof(
  ...[versionRule, versionList, textRule, nullRule, flagRule, rangeRule],
  ...[ageRule, tagRule, applicationRule],
);

const { tree } = fc.letrec<{ tree: ModelRule }>((tie) => {
  const several = fc.array(tie('tree'), { minLength: 1, maxLength: 3 });
  return {
    tree: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      leaf,
      several.map(
        (rules): ModelRule => ({
          json: { and: rules.map(({ json }) => json) },
          decide: (device) => all(rules.map((rule) => rule.decide(device))),
        }),
      ),
      several.map(
        (rules): ModelRule => ({
          json: { or: rules.map(({ json }) => json) },
          decide: (device) => any(rules.map((rule) => rule.decide(device))),
        }),
      ),
      tie('tree').map(
        (rule): ModelRule => ({
          json: { not: rule.json },
          decide: (device) => {
            const truth = rule.decide(device);
            return truth === null ? null : !truth;
          },
        }),
      ),
    ),
  };
});

export const anyRule = tree;
