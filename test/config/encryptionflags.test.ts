import t from "tap";
import { readEncryptionFlags } from "../../src/config/encryptionflags.ts";
import { isFlagFault, parseFlags } from "../../src/config/flags.ts";

function read(...args: string[]): ReturnType<typeof readEncryptionFlags> {
  const values = parseFlags(args);
  if (isFlagFault(values)) throw new Error(values.fault);
  return readEncryptionFlags(values);
}

t.test("readEncryptionFlags() reads the file, and wants one where it is to be read again", (t) => {
  const flag = "--encryption-provider-config";
  t.same(read(), { file: "", reloads: false });
  t.same(read(`${flag}=/f`), { file: "/f", reloads: false });
  t.same(read(`${flag}=/f`, `${flag}-automatic-reload`), { file: "/f", reloads: true });
  t.equal(read(`${flag}-automatic-reload`), `${flag}-automatic-reload needs ${flag}`);
  t.end();
});
