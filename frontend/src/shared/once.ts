/** Makes a value for each key once; what failed is tried again at the next call. */
export function once<Key, Value>(make: (key: Key) => Promise<Value>) {
  const known = new Map<Key, Promise<Value>>();
  const of = (key: Key): Promise<Value> => {
    const before = known.get(key);
    if (before) return before;
    const made = make(key);
    made.catch(() => known.delete(key));
    known.set(key, made);
    return made;
  };
  return Object.assign(of, { has: (key: Key) => known.has(key) });
}
