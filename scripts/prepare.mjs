// Installs and builds, nothing else: what `npm run check` and CI need first.
import { build, install } from "./install.mjs";

install();
build();
