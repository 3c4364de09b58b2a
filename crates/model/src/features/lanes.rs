//! Numbers of several pairs side by side: a loop over pairs then loads and stores whole vectors.

/// How many pairs stand side by side. A block of pairs is some KiB, and most pools fit in one or two.
pub(crate) const LANES: usize = 32;

/// What is known of one pair (or of one kernel), and its form for [`LANES`] of them, in which equal numbers are
/// neighbours.
pub trait Lanes: Copy + Default {
    /// The same of [`LANES`] pairs: an array for each number.
    type Block: Clone;

    /// Zeros in every lane.
    const ZERO: Self::Block;

    /// What a lane has.
    fn get(block: &Self::Block, lane: usize) -> Self;

    /// Gives it to a lane.
    fn set(self, block: &mut Self::Block, lane: usize);
}

/// The only number: of a loop that stores numbers of different sizes to one block the compiler makes no vectors.
impl Lanes for f64 {
    type Block = [f64; LANES];

    const ZERO: Self::Block = [0.0; LANES];

    #[inline(always)]
    fn get(block: &Self::Block, lane: usize) -> Self {
        block[lane]
    }

    #[inline(always)]
    fn set(self, block: &mut Self::Block, lane: usize) {
        block[lane] = self;
    }
}

impl<T: Lanes> Lanes for [T; 3] {
    type Block = [T::Block; 3];

    const ZERO: Self::Block = [T::ZERO; 3];

    #[inline(always)]
    fn get([a, b, c]: &Self::Block, lane: usize) -> Self {
        [T::get(a, lane), T::get(b, lane), T::get(c, lane)]
    }

    #[inline(always)]
    fn set(self, block: &mut Self::Block, lane: usize) {
        let ([a, b, c], [block_a, block_b, block_c]) = (self, block);
        a.set(block_a, lane);
        b.set(block_b, lane);
        c.set(block_c, lane);
    }
}

/// Declares a struct and, with the name behind `in`, its form for a block.
macro_rules! lanes {
    ($(#[$about:meta])* $vis:vis struct $Name:ident in $Block:ident {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $number:ty,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default)]
        $vis struct $Name {
            $($(#[$doc])* $field_vis $field: $number,)+
        }

        #[doc = concat!("[`", stringify!($Name), "`] of a block, an array for each number.")]
        #[derive(Debug, Clone)]
        $vis struct $Block {
            $($field: <$number as $crate::features::lanes::Lanes>::Block,)+
        }

        impl $crate::features::lanes::Lanes for $Name {
            type Block = $Block;

            const ZERO: $Block = $Block { $($field: <$number as $crate::features::lanes::Lanes>::ZERO,)+ };

            #[inline(always)]
            fn get(block: &$Block, lane: usize) -> Self {
                Self { $($field: <$number>::get(&block.$field, lane),)+ }
            }

            #[inline(always)]
            fn set(self, block: &mut $Block, lane: usize) {
                $(self.$field.set(&mut block.$field, lane);)+
            }
        }
    };
}
pub(crate) use lanes;
