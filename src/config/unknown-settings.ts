import { distanceOf } from '../errors.js';

/** A variable that is probably meant for Muster, which has none of this name. */
export interface UnknownSetting {
  readonly name: string;
  /** The setting that it may be a misspelling of, and that is not set. */
  readonly nearest: string | undefined;
}

/** Variables that docker-compose.yml and `muster keys rotate` read. */
const OTHERS = ['POSTGRES_PASSWORD', 'MUSTER_BIND', 'NEW_MASTER_KEY'];
/** Docker Compose reads them from the same `.env`. */
const OF_COMPOSE = /^(COMPOSE|DOCKER)_/;
const MAX_ERRORS = 3;
/** Typing errors are fewer in short names: FOO is not PORT. */
const LETTERS_PER_ERROR = 3;
/** A shorter part of a name says nothing. */
const LONG_PART = 5;
/** Shorter names of other programs differ as little: DB_HOST from DEP_HOST. */
const LONG_NAME = 10;

interface Variables {
  settings: readonly string[];
  /** Names in the `.env`. */
  dotEnv: readonly string[];
  /** Names in the environment. */
  environment: readonly string[];
}

/** All unknown names in the `.env`, and those in the environment that look like a setting. */
export function unknownSettings({ settings, dotEnv, environment }: Variables): UnknownSetting[] {
  const known = new Set([...settings, ...OTHERS]);
  const own = new Set(dotEnv.filter((name) => !known.has(name) && !OF_COMPOSE.test(name)));
  const similar = environment.filter(
    (name) =>
      name.includes('_') && !known.has(name) && !own.has(name) && isMisspelt(name, settings),
  );
  const isSet = new Set([...dotEnv, ...environment]);
  return [...own, ...similar].sort().map((name) => {
    const nearest = nearestOf(name, settings, MAX_ERRORS);
    return { name, nearest: nearest !== undefined && isSet.has(nearest) ? undefined : nearest };
  });
}

/** Stricter than for the `.env`: the environment has variables of other programs (CLIENT_ID is not OIDC_CLIENT_ID). */
function isMisspelt(name: string, settings: readonly string[]): boolean {
  const nearest = nearestOf(name, settings, name.length < LONG_NAME ? 1 : 2);
  return nearest !== undefined && (!nearest.includes(name) || nearest.length - name.length === 1);
}

/** The one setting that the name is a part of, or the most similar one. */
function nearestOf(name: string, settings: readonly string[], most: number): string | undefined {
  const containing = settings.filter((setting) => setting.includes(name));
  if (containing.length > 0) {
    return containing.length === 1 && name.length >= LONG_PART ? containing[0] : undefined;
  }
  const rated = settings.map((setting) => ({ setting, distance: distanceOf(name, setting) }));
  const [best] = rated.sort((one, other) => one.distance - other.distance);
  const limit = Math.min(most, Math.floor(name.length / LETTERS_PER_ERROR));
  return best !== undefined && best.distance <= limit ? best.setting : undefined;
}
